/** Serves the pages of `page/`, bundled, from an origin of their own, and below `/dist` what is published. */
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Rolldown } from 'vite';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const mediaTypes: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript' };

export interface PageServer {
  readonly origin: string;
  close(): Promise<void>;
}

export async function servePages(): Promise<PageServer> {
  const files = await bundled();
  const server = createServer(({ url = '/' }, response) => {
    const { pathname } = new URL(url, 'http://page');
    const published = here(join('../..', pathname));
    const file =
      files.get(pathname.slice(1)) ??
      (pathname.startsWith('/dist/') && existsSync(published) ? readFileSync(published) : undefined);
    const type = mediaTypes[extname(pathname)] ?? 'application/octet-stream';
    response.writeHead(file === undefined ? 404 : 200, { 'content-type': type }).end(file);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function bundled(): Promise<Map<string, string | Uint8Array>> {
  const made = (await build({
    root: here('page'),
    configFile: false,
    logLevel: 'error',
    build: {
      write: false,
      minify: false,
      rolldownOptions: { input: [here('page/ai6.html'), here('page/ai7.html')] },
    },
  })) as Rolldown.RolldownOutput;
  return new Map(made.output.map((one) => [one.fileName, one.type === 'chunk' ? one.code : one.source]));
}

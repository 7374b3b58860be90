/** HTTP by hand, for what a well-behaved client never sends. */
import { connect, type Socket } from 'node:net';

export interface RawAnswer {
  /** Of each answer on the connection, in order. */
  readonly statuses: readonly number[];
  readonly text: string;
}

/** Sends the bytes, and reads until the other side is done: it closes, or `isEnough` of what came. */
export function raw(
  port: number,
  bytes: string | Buffer,
  isEnough: (text: string) => boolean = () => false,
): Promise<RawAnswer> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    socket.setEncoding('latin1');
    socket.on('data', (more: string) => {
      text += more;
      if (isEnough(text)) socket.destroy();
    });
    // A server that closes while it is written to resets the connection.
    socket.on('error', () => {});
    socket.on('close', () => resolve({ statuses: statusesIn(text), text }));
    socket.on('connect', () => socket.write(bytes));
  });
}

/** A connection that stays open. */
export function opened(port: number, bytes: string): Promise<Socket> {
  return new Promise((resolve, refuse) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', refuse);
    socket.once('connect', () => {
      socket.off('error', refuse);
      socket.on('error', () => {});
      socket.write(bytes, () => resolve(socket));
    });
  });
}

/** The beginning of an answer. The rest stays unread. */
export function headOf(socket: Socket): Promise<string> {
  return new Promise((resolve, refuse) => {
    let text = '';
    const onData = (more: Buffer): void => {
      text += more.toString('latin1');
      if (!text.includes('\r\n\r\n')) return;
      socket.pause();
      socket.off('data', onData);
      resolve(text);
    };
    socket.on('data', onData);
    socket.once('close', () => refuse(new Error(`Closed after: ${text}`)));
  });
}

export function statusesIn(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
}

export interface RawRequest {
  readonly method?: string;
  readonly path: string;
  readonly token?: string;
  readonly headers?: readonly string[];
  readonly body?: string;
}

/** A request that ends its connection. */
export function requestText({ method = 'GET', path, token, headers = [], body }: RawRequest): string {
  const lines = [
    `${method} ${path} HTTP/1.1`,
    ...(headers.some((line) => /^host *:/i.test(line)) ? [] : ['host: 127.0.0.1']),
    ...(token ? [`authorization: Bearer ${token}`] : []),
    'connection: close',
    ...(body === undefined
      ? []
      : ['content-type: application/json', `content-length: ${Buffer.byteLength(body)}`]),
    ...headers,
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body ?? ''}`;
}

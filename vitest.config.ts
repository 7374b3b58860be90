import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const source = (path: string): string => fileURLToPath(new URL(`./src/${path}`, import.meta.url));

/** Server processes that no lease hurries: beside the unit tests. */
const servers = ['e2e/attack/**/*.test.ts', 'e2e/closing/**/*.test.ts', 'e2e/http/approval-flow.test.ts'];

export default defineConfig({
  resolve: {
    // Tests and examples import the package by its name and get the source, not the last build.
    alias: [
      { find: /^countersign$/, replacement: source('index.ts') },
      { find: /^countersign\/client$/, replacement: source('client/index.ts') },
      { find: /^countersign\/libsql$/, replacement: source('store/libsql.ts') },
      { find: /^countersign\/postgres$/, replacement: source('store/postgres.ts') },
      { find: /^countersign\/server$/, replacement: source('server/index.ts') },
      { find: /^countersign\/sqlite$/, replacement: source('store/sqlite.ts') },
      { find: /^countersign\/testing$/, replacement: source('testing/index.ts') },
    ],
  },
  test: {
    pool: 'forks',
    globalSetup: [fileURLToPath(new URL('./test/support/postgres-setup.ts', import.meta.url))],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['src/**/*.test.{ts,tsx}', 'test/**/*.test.ts'],
          testTimeout: 20_000,
          maxWorkers: '100%',
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'wholes',
          include: ['examples/**/*.test.ts', 'e2e/*.test.ts', ...servers],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          maxWorkers: '100%',
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'processes',
          include: ['e2e/*/**/*.test.ts'],
          // With packages of their own: npm run compat.
          exclude: ['**/node_modules/**', 'e2e/compat/**', ...servers],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          // Some of these race processes against leases: alone, after the others.
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});

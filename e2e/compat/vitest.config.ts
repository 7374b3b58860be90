import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import root from '../../vitest.config.ts';

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  resolve: root.resolve ?? {},
  test: { pool: 'forks', include: ['*.test.ts'], testTimeout: 15_000, hookTimeout: 30_000 },
});

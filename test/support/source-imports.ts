/** For `node --import`: the package by its name is its source, as vitest.config.ts says for tests. */
import { registerHooks } from 'node:module';

registerHooks({
  resolve(specifier, context, nextResolve) {
    const [, entry = ''] = /^(countersign(?:\/\w+)?)$/.exec(specifier) ?? [];
    const file = {
      countersign: 'index.ts',
      'countersign/testing': 'testing/index.ts',
      'countersign/sqlite': 'store/sqlite.ts',
    }[entry];
    if (file === undefined) return nextResolve(specifier, context);
    return nextResolve(new URL(`../../src/${file}`, import.meta.url).href, context);
  },
});

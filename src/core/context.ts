/**
 * What the caller's request knows and tools need: user, tenant, credentials. Entries that JSON can hold are stored
 * with the run; secret ones are never stored and must be supplied again.
 */
/**
 * A map of request-scoped values, handed to policies, hooks and tools. Each tool call gets a copy of its own, so
 * setting a key inside a tool changes nothing elsewhere.
 * @example new RequestContext([['tenant', 'acme']]).set('apiKey', key, { secret: true })
 */
export class RequestContext {
  readonly #entries: Map<string, unknown>;
  readonly #secret = new Set<string>();

  constructor(entries: Iterable<readonly [string, unknown]> = []) {
    this.#entries = new Map(entries);
  }

  get(key: string): unknown {
    return this.#entries.get(key);
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  /** Sets a value. With `secret: true` it is never stored and must be supplied again with later decisions. */
  set(key: string, value: unknown, options: { readonly secret?: boolean | undefined } = {}): this {
    this.#entries.set(key, value);
    if (options.secret) this.#secret.add(key);
    else this.#secret.delete(key);
    return this;
  }

  delete(key: string): boolean {
    this.#secret.delete(key);
    return this.#entries.delete(key);
  }

  keys(): IterableIterator<string> {
    return this.#entries.keys();
  }

  entries(): IterableIterator<[string, unknown]> {
    return this.#entries.entries();
  }

  isSecret(key: string): boolean {
    return this.#secret.has(key);
  }

  /** The entries as a plain object, secrets too: what policies are given. */
  toObject(): Record<string, unknown> {
    return Object.fromEntries(this.#entries);
  }

  /** The entries that may be shown: without secrets. */
  toJSON(): Record<string, unknown> {
    return Object.fromEntries([...this.#entries].filter(([key]) => !this.#secret.has(key)));
  }
}

/**
 * What is used of the package `@opentelemetry/api`, in types of our own: it is handed in and never imported, so that
 * whoever does not trace needs neither the package nor its types.
 */

export type Attributes = Readonly<Record<string, string | number | boolean | string[]>>;

interface TraceState {
  set(key: string, value: string): TraceState;
  unset(key: string): TraceState;
  get(key: string): string | undefined;
  serialize(): string;
}

/** Which span a trace has come to. */
export interface SpanContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
  readonly isRemote?: boolean;
  readonly traceState?: TraceState;
}

export interface Span {
  spanContext(): SpanContext;
  setAttributes(attributes: Attributes): unknown;
  setStatus(status: { code: number }): unknown;
  end(at?: Date): void;
}

/** What goes with asynchronous work; nobody here looks into it. */
export interface Context {
  getValue(key: symbol): unknown;
  setValue(key: symbol, value: unknown): Context;
  deleteValue(key: symbol): Context;
}

export interface OpenTelemetry {
  readonly trace: {
    getTracer(name: string): {
      startSpan(
        name: string,
        options: {
          kind: number;
          attributes: Attributes;
          links: { context: SpanContext }[];
          startTime?: Date;
        },
        context: Context,
      ): Span;
    };
    getSpanContext(context: Context): SpanContext | undefined;
    isSpanContextValid(context: SpanContext): boolean;
    setSpan(context: Context, span: Span): Context;
    setSpanContext(context: Context, spanContext: SpanContext): Context;
  };
  readonly context: {
    active(): Context;
    with<T>(context: Context, work: () => T): T;
  };
  readonly propagation: {
    extract(
      context: Context,
      headers: Headers,
      read: { get(headers: Headers, name: string): string | undefined; keys(headers: Headers): string[] },
    ): Context;
  };
  createTraceState(text: string): TraceState;
}

export interface TelemetryOptions {
  /** The package itself: `import * as opentelemetry from '@opentelemetry/api'`. */
  readonly opentelemetry: OpenTelemetry;
}

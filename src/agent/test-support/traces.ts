/** The real SDK of OpenTelemetry in this process, and the spans that it was told. */
import * as opentelemetry from '@opentelemetry/api';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-node';

export interface Traces {
  readonly telemetry: { readonly opentelemetry: typeof opentelemetry };
  /** A span of the test's own, in which something is done. */
  within<T>(name: string, work: () => Promise<T>): Promise<T>;
  /** The names of all ended spans as a tree, siblings as they ended (two may begin in one millisecond): `a(b, c(d))`. */
  tree(): string;
  /** The only span of that name. */
  span(name: string): ReadableSpan;
  spans(name: string): readonly ReadableSpan[];
  all(): readonly ReadableSpan[];
  reset(): void;
  /** To be broken. */
  readonly processor: SpanProcessor;
}

/** Once in a process: the package knows one SDK. */
export function openTraces(): Traces {
  const exporter = new InMemorySpanExporter();
  const processor = new SimpleSpanProcessor(exporter);
  new NodeTracerProvider({ spanProcessors: [processor] }).register();
  const tracer = opentelemetry.trace.getTracer('test');
  const spans = (name: string) => exporter.getFinishedSpans().filter((span) => span.name === name);
  return {
    telemetry: { opentelemetry },
    within: (name, work) =>
      tracer.startActiveSpan(name, async (span) => {
        try {
          return await work();
        } finally {
          span.end();
        }
      }),
    tree() {
      const all = exporter.getFinishedSpans();
      const known = new Set(all.map((span) => span.spanContext().spanId));
      const below = (parent: string | undefined): string =>
        all
          .filter(({ parentSpanContext: its }) =>
            parent === undefined ? !its || !known.has(its.spanId) : its?.spanId === parent,
          )
          .map((span) => {
            const inner = below(span.spanContext().spanId);
            return inner === '' ? span.name : `${span.name}(${inner})`;
          })
          .join(', ');
      return below(undefined);
    },
    spans,
    all: () => exporter.getFinishedSpans(),
    span(name) {
      const [span, ...more] = spans(name);
      if (span === undefined || more.length > 0)
        throw new Error(`${more.length + (span ? 1 : 0)} spans ${name}`);
      return span;
    },
    processor,
    reset: () => exporter.reset(),
  };
}

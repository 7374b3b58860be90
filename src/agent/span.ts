/**
 * Owns one span: what runs in it, what is below it, and how a trace that was kept with a run goes on. Whatever an SDK
 * throws changes nothing: a call that ran must not be taken for one that failed.
 */
import { isCountersignError } from '../core/errors.ts';
import type { RunStarted } from '../core/event.ts';
import type { Attributes, Context, OpenTelemetry, Span, SpanContext } from './opentelemetry.ts';

/** What of a trace is kept with a run, in the form of W3C Trace Context. */
export type KeptTrace = Pick<RunStarted, 'traceparent' | 'tracestate'>;

export interface Facts {
  /** Those that are `undefined` are left out. */
  readonly attributes: Readonly<Record<string, Attributes[string] | undefined>>;
  readonly isClient?: boolean;
  readonly startedAt?: number;
}

export interface TracedSpan {
  readonly kept: KeptTrace;
  /** Work that is done in the span: what it traces itself is below. */
  within<T>(work: () => T): T;
  below(name: string, facts: Facts): TracedSpan;
  note(attributes: Facts['attributes']): void;
  /** @param failure what was thrown, or its code. */
  end(failure?: unknown, at?: number): void;
}

/** A span below the one that is current. */
export function spanHere(api: OpenTelemetry, name: string, facts: Facts): TracedSpan {
  return quietly(() => openSpan(api, name, facts, api.context.active()), untold);
}

/** A span that continues a kept trace, linked to the one that is current. Where none was kept, below that one. */
export function spanAfter(api: OpenTelemetry, kept: KeptTrace, name: string, facts: Facts): TracedSpan {
  return quietly(() => {
    const here = api.context.active();
    const parent = spanContextOf(api, kept);
    if (parent === undefined) return openSpan(api, name, facts, here);
    const current = api.trace.getSpanContext(here);
    const links = current && api.trace.isSpanContextValid(current) ? [{ context: current }] : [];
    return openSpan(api, name, facts, api.trace.setSpanContext(here, parent), links);
  }, untold);
}

const kinds = { internal: 0, client: 2 };
const errorStatus = { code: 2 };

const untold: TracedSpan = {
  kept: {},
  within: (work) => work(),
  below: () => untold,
  note() {},
  end() {},
};

/** What an SDK throws changes nothing. */
export function quietly<T>(work: () => T, otherwise: T): T {
  try {
    return work();
  } catch {
    return otherwise;
  }
}

function openSpan(
  api: OpenTelemetry,
  name: string,
  { attributes, isClient, startedAt }: Facts,
  parent: Context,
  links: { context: SpanContext }[] = [],
): TracedSpan {
  const span: Span = api.trace.getTracer('countersign').startSpan(
    name,
    {
      kind: isClient ? kinds.client : kinds.internal,
      attributes: given(attributes),
      links,
      ...(startedAt === undefined ? {} : { startTime: new Date(startedAt) }),
    },
    parent,
  );
  const context = api.trace.setSpan(parent, span);
  return {
    kept: keptOf(api, span.spanContext()),
    within: (work) => api.context.with(context, work),
    below: (other, facts) => quietly(() => openSpan(api, other, facts, context), untold),
    note: (more) => void quietly(() => span.setAttributes(given(more)), undefined),
    end(failure, at) {
      quietly(() => {
        if (failure !== undefined) {
          span.setAttributes({ 'error.type': errorType(failure) });
          span.setStatus(errorStatus);
        }
        span.end(at === undefined ? undefined : new Date(at));
      }, undefined);
    },
  };
}

function given(attributes: Facts['attributes']): Attributes {
  return Object.fromEntries(
    Object.entries(attributes).filter(
      (entry): entry is [string, Attributes[string]] => entry[1] !== undefined,
    ),
  );
}

/** The kind of an error, never its message: that may say what a tool was given. */
function errorType(failure: unknown): string {
  if (typeof failure === 'string') return failure;
  if (isCountersignError(failure)) {
    const { cause } = failure as { cause?: { statusCode?: unknown } };
    if (typeof cause?.statusCode === 'number') return String(cause.statusCode);
    return cause instanceof Error ? cause.name : failure.code;
  }
  return failure instanceof Error ? failure.name : '_OTHER';
}

function keptOf(api: OpenTelemetry, context: SpanContext): KeptTrace {
  if (!api.trace.isSpanContextValid(context)) return {};
  const { traceId, spanId, traceFlags, traceState } = context;
  const tracestate = traceState?.serialize();
  return {
    traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
    ...(tracestate ? { tracestate } : {}),
  };
}

function spanContextOf(api: OpenTelemetry, { traceparent, tracestate }: KeptTrace): SpanContext | undefined {
  const parts = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(traceparent ?? '');
  if (parts === null) return undefined;
  const [, traceId = '', spanId = '', flags = ''] = parts;
  return {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
    ...(tracestate ? { traceState: api.createTraceState(tracestate) } : {}),
  };
}

import * as opentelemetry from '@opentelemetry/api';
import { Agent, Countersign, type TelemetryOptions } from 'countersign';

// The package itself fits.
export const telemetry: TelemetryOptions = { opentelemetry };
const desk = new Agent({ id: 'desk', model: 'openai/gpt-5-mini', telemetry });
new Agent({ id: 'other', model: 'openai/gpt-5-mini', telemetry: undefined });
new Countersign({ agents: { desk }, telemetry: { opentelemetry } });
new Countersign({ agents: {}, telemetry: undefined });

// @ts-expect-error: it is the package, not a tracer
new Countersign({ agents: {}, telemetry: { opentelemetry: opentelemetry.trace.getTracer('mine') } });

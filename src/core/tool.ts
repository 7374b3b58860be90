/** The one shape of a tool. The gate reads this object; no flag of it is ever copied to another shape. */
import type { RequestContext } from './context.ts';
import { CountersignError } from './errors.ts';
import type { Json, JsonObject } from './json.ts';
import type { Message, ModelOutput } from './message.ts';
import { isSchema, jsonSchemaOf, type Schema, type SchemaInput, type SchemaOutput } from './schema.ts';

/** Sends progress of a running call to the readers of the stream. Not stored. */
export interface ToolWriter {
  /** Emits a `tool-output` chunk. */
  write(output: unknown): Promise<void>;
  /** Emits a chunk of your own: `{ type: 'data-…', data }`. */
  custom(chunk: {
    readonly type: `data-${string}`;
    readonly data: unknown;
    readonly id?: string | undefined;
  }): Promise<void>;
}

/** What `execute` knows of the agent's run, and how it pauses itself (specification: runtime suspension). */
export interface ToolAgentContext<Suspend = unknown, Resume = unknown> {
  readonly agentId: string;
  readonly toolCallId: string;
  /** The prompt that led to this call. */
  readonly messages: readonly Message[];
  readonly threadId: string | undefined;
  readonly resourceId: string | undefined;
  /** The data that a person resumed the call with, checked against `resumeSchema`. */
  readonly resumeData: Resume | undefined;
  /**
   * Notes that the call must wait for a person, and returns at once without throwing: return right after it.
   * When `execute` has settled, the payload is checked against `suspendSchema`, stored and announced.
   */
  suspend(payload: Suspend): Promise<void>;
}

/** The second argument of `execute`. */
export interface ToolContext<Suspend = unknown, Resume = unknown> {
  readonly runId: string;
  readonly toolCallId: string;
  readonly requestContext: RequestContext;
  /** Aborted when the run is cancelled. The call's true outcome is recorded all the same. */
  readonly abortSignal: AbortSignal;
  readonly writer: ToolWriter;
  /** The same over every attempt of this call: hand it to services that deduplicate. */
  readonly idempotencyKey: string;
  readonly workspace: unknown;
  readonly agent: ToolAgentContext<Suspend, Resume>;
}

/** What a tool's own policy function is given beside the input. */
export interface ApprovalContext {
  readonly runId: string;
  readonly toolCallId: string;
  /** The prompt that led to this call. */
  readonly messages: readonly Message[];
  readonly requestContext: Record<string, unknown>;
  readonly workspace: unknown;
}

type MaybePromise<T> = T | Promise<T>;

/** Options of `createTool`. `id` and `inputSchema` are all that a tool needs. */
export interface ToolOptions<
  Input extends Schema = Schema,
  Output extends Schema | undefined = Schema | undefined,
  Suspend extends Schema | undefined = Schema | undefined,
  Resume extends Schema | undefined = Schema | undefined,
> {
  /** The tool's name, everywhere: 1 to 64 letters, digits, `_` or `-`. */
  readonly id: string;
  readonly description?: string | undefined;
  readonly inputSchema: Input;
  readonly outputSchema?: Output | undefined;
  /** What `suspend` may be given. */
  readonly suspendSchema?: Suspend | undefined;
  /** What a person resumes with. */
  readonly resumeSchema?: Resume | undefined;
  /** Whether a call needs a person before it runs: the tool's own word (specification: tool-level approval). */
  readonly requireApproval?:
    | boolean
    | ((input: SchemaOutput<Input>, context: ApprovalContext) => MaybePromise<boolean>)
    | undefined;
  /** Running it twice with one `idempotencyKey` has the effect of once: an interrupted call is re-run by itself. */
  readonly idempotent?: boolean | undefined;
  /** It changes nothing: an interrupted call is re-run by itself. */
  readonly readOnly?: boolean | undefined;
  /** Who may decide over HTTP: the owner of the run (default) or a reviewer only. Stored with the call. */
  readonly approver?: 'owner' | 'reviewer' | undefined;
  /**
   * Whether the next message of the conversation may answer what a suspended call asked, where auto-resume is on.
   * Left out: yes, unless the `resumeSchema` demands nothing but booleans, which is consent, not data, and unless a
   * client carries the tool out.
   */
  readonly autoResume?: boolean | undefined;
  readonly strict?: boolean | undefined;
  readonly providerOptions?: JsonObject | undefined;
  /** What the model reads in place of the result. Made once, when the call finishes. */
  readonly toModelOutput?:
    | ((
        output: SchemaOutput<Output>,
        call: { toolCallId: string; input: unknown },
      ) => MaybePromise<ModelOutput>)
    | undefined;
  /** Left out, the call waits for a person (or a client) to give its output as resume data. */
  readonly execute?:
    | ((
        inputData: SchemaOutput<Input>,
        context: ToolContext<SchemaInput<Suspend>, SchemaOutput<Resume>>,
        // biome-ignore lint/suspicious/noConfusingVoidType: `return suspend(…)` is the idiom of the specification
      ) => MaybePromise<SchemaInput<Output> | void | undefined>)
    | undefined;
}

/** A tool as the gate reads it: any `createTool` result fits. */
export interface Tool {
  readonly [toolBrand]: true;
  readonly id: string;
  readonly description?: string | undefined;
  readonly inputSchema: Schema;
  readonly outputSchema?: Schema | undefined;
  readonly suspendSchema?: Schema | undefined;
  readonly resumeSchema?: Schema | undefined;
  readonly idempotent?: boolean | undefined;
  readonly readOnly?: boolean | undefined;
  readonly approver?: 'owner' | 'reviewer' | undefined;
  readonly autoResume?: boolean | undefined;
  readonly strict?: boolean | undefined;
  readonly providerOptions?: JsonObject | undefined;
  readonly inputExamples?: Json | undefined;
  /** A tool of the provider, offered as it is. Where the provider runs it, there is no `execute` here. */
  readonly provider?:
    | { readonly executed: boolean; readonly asksFirst?: boolean | undefined; readonly tool: object }
    | undefined;
  readonly requireApproval?: boolean | OwnPolicy | undefined;
  toModelOutput?(output: unknown, call: { toolCallId: string; input: unknown }): MaybePromise<ModelOutput>;
  execute?(inputData: unknown, context: ToolContext): unknown;
  /** The JSON Schema of the input, made once. */
  inputJsonSchema(): Promise<JsonObject>;
  resumeJsonSchema(): Promise<JsonObject | undefined>;
}

interface OwnPolicyMethod {
  call(input: unknown, context: ApprovalContext): MaybePromise<boolean>;
}
/** Method-style, so that a policy over a narrower input fits. */
export type OwnPolicy = OwnPolicyMethod['call'];

export const toolBrand: unique symbol = Symbol.for('countersign.tool') as never;

const namePattern = /^[A-Za-z0-9_-]{1,64}$/;

/** Makes a tool of options that are known to be well typed. @throws `invalid-tool` for what no provider takes. */
export function toolOf(options: ToolOptions & Pick<Tool, 'provider' | 'inputExamples'>): Tool {
  check(options);
  let input: Promise<JsonObject> | undefined;
  let resume: Promise<JsonObject | undefined> | undefined;
  const { id, inputSchema, resumeSchema, outputSchema, provider } = options;
  const clientSide = options.execute === undefined && provider?.executed !== true;
  const resumedWith = resumeSchema ?? (clientSide ? outputSchema : undefined);
  return Object.freeze({
    ...options,
    ...(clientSide ? { execute: waitForOutput, suspendSchema: undefined, resumeSchema: resumedWith } : {}),
    // What a client has done is nothing that a message says.
    ...(clientSide && !resumeSchema ? { autoResume: options.autoResume ?? false } : {}),
    [toolBrand]: true,
    inputJsonSchema: () => (input ??= jsonSchemaOf(inputSchema, `inputSchema of tool "${id}"`)),
    resumeJsonSchema: () =>
      (resume ??= resumedWith
        ? jsonSchemaOf(resumedWith, `resumeSchema of tool "${id}"`)
        : Promise.resolve(undefined)),
  }) as unknown as Tool;
}

/** The `execute` of a tool that has none: it waits, and what it is resumed with is its output. */
function waitForOutput(_input: unknown, { agent }: ToolContext): unknown {
  return agent.resumeData === undefined ? agent.suspend(null) : agent.resumeData;
}

/** Whether what a call of the tool asks may be answered in words. */
export function mayAutoResume({ autoResume }: Tool, resumeSchema: JsonObject): boolean {
  return autoResume === undefined ? !isConsent(resumeSchema) : autoResume === true;
}

/** Whether all that a schema demands is yes or no, or nothing at all. */
function isConsent(schema: Json): boolean {
  const { type, anyOf, const: only, properties, required, additionalProperties } = schema as JsonObject;
  if (Array.isArray(anyOf)) return anyOf.every(isConsent);
  if (!properties)
    return typeof only === 'boolean' || [type].flat().every((is) => is === 'boolean' || is === 'null');
  const asked = Object.entries(properties as JsonObject);
  const demanded = asked.filter(([key]) => (required as Json[] | undefined)?.includes(key));
  if (asked.length === 0) return !additionalProperties;
  return (demanded.length > 0 ? demanded : asked).every(([, one]) => isConsent(one));
}

export function isTool(value: unknown): value is Tool {
  return typeof value === 'object' && value !== null && (value as Partial<Tool>)[toolBrand] === true;
}

function check(options: ToolOptions): void {
  const { id, requireApproval } = options;
  const refuse = (what: string, expected: string): never => {
    throw new CountersignError('invalid-tool', what, { toolName: String(id), expected });
  };
  if (typeof id !== 'string' || !namePattern.test(id)) {
    refuse(
      `The tool id "${String(id)}" is not one that providers accept.`,
      '1 to 64 letters, digits, "_" or "-"',
    );
  }
  if (!isSchema(options.inputSchema)) {
    refuse(`Tool "${id}" has no inputSchema.`, 'a Standard Schema (for instance z.object({ … }))');
  }
  for (const name of ['outputSchema', 'suspendSchema', 'resumeSchema'] as const) {
    if (options[name] !== undefined && !isSchema(options[name])) {
      refuse(`The ${name} of tool "${id}" is not a schema.`, 'a Standard Schema, or none');
    }
  }
  if (
    requireApproval !== undefined &&
    typeof requireApproval !== 'boolean' &&
    typeof requireApproval !== 'function'
  ) {
    refuse(
      `requireApproval of tool "${id}" is neither boolean nor function.`,
      'true, false or (input) => boolean',
    );
  }
  if (options.execute !== undefined && typeof options.execute !== 'function') {
    refuse(
      `execute of tool "${id}" is not a function.`,
      'a function, or none for a tool that a client answers',
    );
  }
  if (options.approver !== undefined && options.approver !== 'owner' && options.approver !== 'reviewer') {
    refuse(`approver of tool "${id}" is unknown.`, "'owner' or 'reviewer'");
  }
}

/** One agent behind the server: the specification's routes, with the names of `Agent`. */
import type { Message, MessageInput, MessagePart } from '../core/message.ts';
import type { ToolChoice } from '../core/model.ts';
import type { AgentDetails, ClientOutput, SentToolApproval, SuspendedRun, SuspendedRuns } from './answers.ts';
import { type DecisionWords, decisionBody } from './decision.ts';
import { type RunStream, runStream } from './run-stream.ts';
import { RunsClient } from './runs.ts';
import { pathOf, type RequestOptions, type Transport } from './transport.ts';

/** A message of a chat page (`UIMessage` of the AI SDK). */
export interface UiMessage {
  readonly id?: string | undefined;
  readonly role: 'system' | 'user' | 'assistant';
  readonly parts: readonly MessagePart[];
}

export type Messages =
  | string
  | MessageInput
  | Message
  | UiMessage
  | readonly (string | MessageInput | Message)[]
  | readonly UiMessage[];

export interface Conversation {
  readonly thread?:
    | string
    | { readonly id: string; readonly title?: string | undefined; readonly metadata?: object | undefined }
    | undefined;
  /** None but your own. */
  readonly resource?: string | undefined;
}

/** What the server must name in `accept`. */
interface AcceptedOptions {
  /** Its keys in `accept.requestContext`. */
  readonly requestContext?: Readonly<Record<string, unknown>> | undefined;
  readonly activeTools?: readonly string[] | undefined;
  readonly autoResumeSuspendedTools?: boolean | undefined;
  readonly durable?: boolean | undefined;
  readonly instructions?: string | undefined;
  readonly maxRetries?: number | undefined;
  readonly model?: string | undefined;
  readonly modelSettings?: object | undefined;
  readonly providerOptions?: object | undefined;
  readonly toolCallConcurrency?: number | undefined;
  readonly toolChoice?: ToolChoice | undefined;
}

export interface StartOptions extends RequestOptions, AcceptedOptions {
  readonly memory?: Conversation | undefined;
  /** Model calls of the whole run, up to the server's limit. */
  readonly maxSteps?: number | undefined;
  /** Holds every call. */
  readonly requireToolApproval?: true | undefined;
}

export interface ToolCallDecision extends DecisionWords {
  readonly runId: string;
  readonly toolCallId: string;
  /** The stop that the person saw. */
  readonly stop?: number | undefined;
}

export interface ResumeOptions extends Omit<ToolCallDecision, 'toolCallId'> {
  /** May be left out where exactly one call of the run is suspended. */
  readonly toolCallId?: string | undefined;
  readonly memory?: Conversation | undefined;
}

export interface ListSuspendedRunsOptions extends RequestOptions {
  readonly threadId?: string | undefined;
  readonly resourceId?: string | undefined;
  /** On `suspendedAt`, both included. */
  readonly fromDate?: Date | undefined;
  readonly toDate?: Date | undefined;
  /** Default 'suspended'. */
  readonly status?: SuspendedRun['status'] | 'all' | undefined;
  readonly perPage?: number | undefined;
  readonly page?: number | undefined;
  readonly cursor?: string | undefined;
}

export interface SendToolApprovalOptions extends DecisionWords {
  readonly threadId: string;
  readonly resourceId: string;
  readonly toolCallId: string;
  readonly approved: boolean;
  readonly stop?: number | undefined;
  /** For a call that suspended itself. */
  readonly resumeData?: unknown;
  readonly declineContext?:
    | { readonly reason?: string | undefined; readonly message?: string | undefined }
    | undefined;
}

type Verb = 'approve-tool-call' | 'decline-tool-call';

/** Made by `client.getAgent(id)`; nothing is asked before a method is called. */
export class ClientAgent extends RunsClient {
  readonly id: string;
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport, id: string) {
    super(transport);
    this.#transport = transport;
    this.id = id;
  }

  async details({ abortSignal }: RequestOptions = {}): Promise<AgentDetails> {
    return this.#transport.json({ path: pathOf`/agents/${this.id}`, abortSignal, isRepeatable: true });
  }

  /** Begins a run. It goes on whether its chunks are read or not, also when `abortSignal` ends the reading. */
  async stream(messages: Messages, options: StartOptions = {}): Promise<RunStream> {
    return runStream(await this.#transport.events(this.#start('stream', messages, options)));
  }

  /** Begins a run; answers when it waits or has ended. */
  async generate(messages: Messages, options: StartOptions = {}): Promise<ClientOutput> {
    return this.#transport.json(this.#start('generate', messages, options));
  }

  /** Approves a held call; the stream carries its outcome, and all that the run does then. */
  approveToolCall(decision: ToolCallDecision): Promise<RunStream> {
    return this.#decided('approve-tool-call', decision);
  }

  /** Declines a held or suspended call. */
  declineToolCall(decision: ToolCallDecision): Promise<RunStream> {
    return this.#decided('decline-tool-call', decision);
  }

  async approveToolCallGenerate(decision: ToolCallDecision): Promise<ClientOutput> {
    return this.#transport.json(this.#decision('approve-tool-call-generate', decision));
  }

  async declineToolCallGenerate(decision: ToolCallDecision): Promise<ClientOutput> {
    return this.#transport.json(this.#decision('decline-tool-call-generate', decision));
  }

  /** Gives a call that suspended itself what it asked for. */
  async resumeStream(resumeData: unknown, options: ResumeOptions): Promise<RunStream> {
    return runStream(
      await this.#transport.events(this.#decision('resume-stream', { ...options, resumeData })),
    );
  }

  /** The runs of this agent that wait; from the store, so also after a restart of the server. */
  async listSuspendedRuns({ abortSignal, ...query }: ListSuspendedRunsOptions = {}): Promise<SuspendedRuns> {
    const path = pathOf`/agents/${this.id}/suspended-runs`;
    return this.#transport.json({ path, query, abortSignal, isRepeatable: true });
  }

  /** Decides by conversation; answers at once, while the run goes on. It is sent once: an ended run is not found so. */
  async sendToolApproval(options: SendToolApprovalOptions): Promise<SentToolApproval> {
    return this.#transport.json({ ...this.#decision('send-tool-approval', options), isRepeatable: false });
  }

  async #decided(verb: Verb, decision: ToolCallDecision): Promise<RunStream> {
    return runStream(await this.#transport.events(this.#decision(verb, decision)));
  }

  #start(verb: 'stream' | 'generate', messages: Messages, { abortSignal, ...options }: StartOptions) {
    const path = `${pathOf`/agents/${this.id}`}/${verb}`;
    return { path, body: { messages, ...options }, abortSignal, isRepeatable: false };
  }

  #decision<Decision extends DecisionWords>(verb: string, decision: Decision) {
    return { path: `${pathOf`/agents/${this.id}`}/${verb}`, ...decisionBody(decision) };
  }
}

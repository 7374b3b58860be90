/**
 * The rules that OpenAI Responses, Anthropic Messages and Gemini enforce on a history: a prompt that breaks one is
 * answered with HTTP 400, and a run that holds such a prompt can never go on. Each rule has a name and says what is
 * wrong by ids, names and positions, never by content.
 */
import type { MessageV4, PromptV4 } from '../models/ai-sdk-types.ts';

export type ProviderName = 'openai' | 'anthropic' | 'google';

/** Whose rules are checked. */
export type PromptRules = ProviderName | 'all';

type AssistantPart = Extract<MessageV4, { role: 'assistant' }>['content'][number];
type ToolCallPart = Extract<AssistantPart, { type: 'tool-call' }>;
type ToolResultPart = Extract<AssistantPart, { type: 'tool-result' }>;
type Check = (prompt: PromptV4, rules: PromptRules) => string[];

const everybody: readonly ProviderName[] = ['openai', 'anthropic', 'google'];

interface Rule {
  readonly check: Check;
  readonly providers: readonly ProviderName[];
}

/** The rules by name. */
export const promptRules = {
  'every-call-answered': { check: everyCallAnswered, providers: everybody },
  'no-orphan-result': { check: noOrphanResult, providers: everybody },
  'results-in-call-order': { check: resultsInCallOrder, providers: everybody },
  'unique-call-ids': { check: uniqueCallIds, providers: everybody },
  'results-in-tool-messages': { check: resultsInToolMessages, providers: everybody },
  'input-is-object': { check: inputIsObject, providers: everybody },
  'tool-names': { check: toolNames, providers: everybody },
  'no-empty-text': { check: noEmptyText, providers: everybody },
  'no-empty-message': { check: noEmptyMessage, providers: everybody },
  'system-first': { check: systemFirst, providers: everybody },
  'user-first': { check: userFirst, providers: ['anthropic', 'google'] },
  'ends-with-user-or-tool': { check: endsWithUserOrTool, providers: everybody },
  'reasoning-signed': { check: reasoningSigned, providers: everybody },
  'approval-responses': { check: approvalResponses, providers: everybody },
} as const satisfies Record<string, Rule>;

export type PromptRuleName = keyof typeof promptRules;

/**
 * What is wrong with a prompt (AI SDK provider specification v4), as `rule-name: what`; empty when nothing is.
 * @param rules the provider whose rules are meant, or `'all'`: what all of them accept.
 */
export function checkPrompt(prompt: PromptV4, rules: PromptRules = 'all'): string[] {
  return Object.entries(promptRules as Record<string, Rule>)
    .filter(([, { providers }]) => rules === 'all' || providers.includes(rules))
    .flatMap(([name, { check }]) => check(prompt, rules).map((what) => `${name}: ${what}`));
}

function everyCallAnswered(prompt: PromptV4): string[] {
  return prompt.flatMap((message, index) =>
    callsOf(message).flatMap(({ toolCallId }) => {
      const count = resultsOf(prompt[index + 1]).filter((result) => result.toolCallId === toolCallId).length;
      return count === 1
        ? []
        : [`call "${toolCallId}" of message ${index} has ${count} results in the message that follows`];
    }),
  );
}

function noOrphanResult(prompt: PromptV4): string[] {
  return prompt.flatMap((message, index) => {
    const asked = new Set(callsOf(prompt[index - 1]).map((call) => call.toolCallId));
    return resultsOf(message)
      .filter((result) => !asked.has(result.toolCallId))
      .map(
        (result) =>
          `result "${result.toolCallId}" of message ${index} answers no call of the message before it`,
      );
  });
}

function resultsInCallOrder(prompt: PromptV4): string[] {
  return prompt.flatMap((message, index) => {
    const order = callsOf(message).map((call) => call.toolCallId);
    const answered = resultsOf(prompt[index + 1])
      .map((result) => result.toolCallId)
      .filter((id) => order.includes(id));
    const sorted = [...answered].sort((one, other) => order.indexOf(one) - order.indexOf(other));
    return answered.every((id, position) => id === sorted[position])
      ? []
      : [`the results of message ${index + 1} are not in the order of the calls of message ${index}`];
  });
}

function uniqueCallIds(prompt: PromptV4): string[] {
  const seen = new Set<string>();
  return prompt.flatMap((message) =>
    partsOf(message).flatMap((part) => {
      if (part.type !== 'tool-call') return [];
      const again = seen.has(part.toolCallId);
      seen.add(part.toolCallId);
      return again ? [`the call id "${part.toolCallId}" is used more than once`] : [];
    }),
  );
}

/** A result stands beside its call only where the provider ran the call itself, also in an earlier turn. */
function resultsInToolMessages(prompt: PromptV4): string[] {
  const byProvider = new Set<string>();
  return prompt.flatMap((message, index) =>
    partsOf(message).flatMap((part) => {
      if (part.type === 'tool-call' && part.providerExecuted) byProvider.add(part.toolCallId);
      if (part.type !== 'tool-result' || message.role === 'tool') return [];
      return message.role === 'assistant' && byProvider.has(part.toolCallId)
        ? []
        : [`result "${part.toolCallId}" stands in message ${index} of the ${message.role}`];
    }),
  );
}

function inputIsObject(prompt: PromptV4): string[] {
  return prompt.flatMap((message) =>
    partsOf(message)
      .filter((part) => part.type === 'tool-call')
      .filter(({ input }) => typeof input !== 'object' || input === null || Array.isArray(input))
      .map((call) => `the input of call "${call.toolCallId}" is no JSON object`),
  );
}

/** Calls of the provider bear names of its own making, such as `mcp.search`. */
function toolNames(prompt: PromptV4): string[] {
  return prompt.flatMap((message) =>
    [...callsOf(message), ...resultsOf(message)]
      .filter((part) => !/^[a-zA-Z0-9_-]{1,64}$/.test(part.toolName))
      .map((part) => `the ${part.type} "${part.toolCallId}" names a tool as providers refuse it`),
  );
}

function noEmptyText(prompt: PromptV4): string[] {
  return prompt.flatMap((message, index) => {
    if (message.role === 'system') return message.content === '' ? [`message ${index} is empty`] : [];
    return partsOf(message)
      .filter((part) => part.type === 'text' && part.text === '')
      .map(() => `message ${index} holds an empty text`);
  });
}

function noEmptyMessage(prompt: PromptV4): string[] {
  return prompt.flatMap((message, index) =>
    message.content.length === 0 && message.role !== 'system' ? [`message ${index} holds nothing`] : [],
  );
}

function systemFirst(prompt: PromptV4): string[] {
  const first = firstOfConversation(prompt);
  return prompt.flatMap((message, index) =>
    message.role === 'system' && index > first ? [`message ${index} is a system message`] : [],
  );
}

function userFirst(prompt: PromptV4): string[] {
  const first = prompt[firstOfConversation(prompt)];
  return first === undefined || first.role === 'user'
    ? []
    : [`the conversation begins with a message of the ${first.role}`];
}

function endsWithUserOrTool(prompt: PromptV4): string[] {
  const last = prompt.at(-1);
  return last?.role === 'user' || last?.role === 'tool'
    ? []
    : [last ? `the last message is one of the ${last.role}` : 'there is no message'];
}

/** What must come back with a reasoning part, by the provider that its options name. */
const signatures: Readonly<Record<string, readonly string[]>> = {
  anthropic: ['signature', 'redactedData'],
  openai: ['itemId', 'reasoningEncryptedContent'],
  scripted: ['signature'],
};

/** Reasoning without any options can be seen as unsigned only where it is known who will read it. */
function reasoningSigned(prompt: PromptV4, rules: PromptRules): string[] {
  const reader = rules in signatures ? rules : undefined;
  return prompt.flatMap((message, index) =>
    partsOf(message)
      .filter((part) => part.type === 'reasoning')
      .flatMap(({ providerOptions = {} }) =>
        Object.keys(signatures)
          .filter((provider) => provider in providerOptions || provider === reader)
          .filter(
            (provider) => !signatures[provider]?.some((key) => providerOptions[provider]?.[key] != null),
          )
          .map((provider) => `reasoning of message ${index} has lost its ${provider} signature`),
      ),
  );
}

/** The request itself is not part of a prompt: what can be seen is that a call of the provider waits before it. */
function approvalResponses(prompt: PromptV4): string[] {
  const seen = new Set<string>();
  return prompt.flatMap((message, index) => {
    if (message.role !== 'tool') return [];
    const waits = partsOf(prompt[index - 1]).some(
      (part) => part.type === 'tool-call' && part.providerExecuted === true,
    );
    return message.content.flatMap((part) => {
      if (part.type !== 'tool-approval-response') return [];
      const again = seen.has(part.approvalId);
      seen.add(part.approvalId);
      return [
        ...(waits ? [] : [`"${part.approvalId}" of message ${index} answers no call of the provider`]),
        ...(again ? [`"${part.approvalId}" is answered more than once`] : []),
      ];
    });
  });
}

type Part = Exclude<MessageV4, { role: 'system' }>['content'][number];

function partsOf(message: MessageV4 | undefined): Part[] {
  return message === undefined || message.role === 'system' ? [] : message.content;
}

/** The calls that we must answer. */
function callsOf(message: MessageV4 | undefined): ToolCallPart[] {
  if (message?.role !== 'assistant') return [];
  return message.content.filter((part) => part.type === 'tool-call').filter((call) => !call.providerExecuted);
}

function resultsOf(message: MessageV4 | undefined): ToolResultPart[] {
  return message?.role === 'tool' ? message.content.filter((part) => part.type === 'tool-result') : [];
}

function firstOfConversation(prompt: PromptV4): number {
  const index = prompt.findIndex((message) => message.role !== 'system');
  return index === -1 ? prompt.length : index;
}

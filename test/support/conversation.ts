/** One conversation of a scene: what a page loads of it, and whether every prompt of it is valid. */
import { safeValidateUIMessages, type UIMessage } from 'ai';
import { expect } from 'vitest';
import { checkPrompt } from '../../src/testing/check-prompt.ts';
import { thread } from './by-thread.ts';
import type { Plan, Scene } from './scene.ts';
import type { Open } from './world.ts';

/** A scene whose agents remember, and whose runs belong to one conversation. */
export function openConversation(open: Open, plan: Plan): Scene {
  const memory = { thread: thread.threadId, resource: thread.resourceId };
  return open({ memory: {}, ...plan, options: { ...plan.options, memory } });
}

/** What a page loads: valid for the library, and no message twice. */
export async function loaded(scene: Scene): Promise<UIMessage[]> {
  const { messages } = await scene.memory().recall(thread);
  const checked = await safeValidateUIMessages({ messages });
  if (!checked.success) throw checked.error;
  const ids = messages.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  return messages as UIMessage[];
}

/** Each message as its role and its texts. */
export function spoken(messages: readonly UIMessage[]): string[] {
  return messages.map(({ role, parts }) => {
    const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
    return `${role}: ${text}`;
  });
}

export interface LoadedCall {
  readonly type: string;
  readonly toolCallId: string;
  readonly state: string;
  readonly input: unknown;
  readonly output?: unknown;
  readonly errorText?: string;
  readonly approval?: { readonly id: string; readonly approved?: boolean; readonly reason?: string };
}

/** The calls of all messages, in order. */
export function callsIn(messages: readonly UIMessage[]): LoadedCall[] {
  return messages.flatMap(({ parts }) =>
    parts.filter((part) => part.type.startsWith('tool-')),
  ) as unknown as LoadedCall[];
}

const providers = ['openai', 'anthropic', 'google', 'all'] as const;

/** What the model was really given: the scripted model would refuse a broken prompt itself, and end the run. */
export function expectValidPrompts({ model }: Scene, count: number): void {
  expect(model.calls).toHaveLength(count);
  for (const { prompt } of model.calls) {
    for (const provider of providers) {
      // Reasoning here is signed as the scripted provider signs it, which 'all' checks.
      const broken = checkPrompt(prompt, provider).filter(
        (what) => !/lost its (openai|anthropic)/.test(what),
      );
      expect(broken).toEqual([]);
    }
  }
}

/** Decisions by conversation, and what follows from them. */
import type { Plan, Scene, SendToolApprovalOptions } from './scene.ts';
import type { Open } from './world.ts';

export const thread = { threadId: 'thread 1', resourceId: 'user 1' };

/** A scene whose runs belong to one conversation. */
export function openThread(open: Open, plan: Plan): Scene {
  const memory = { thread: thread.threadId, resource: thread.resourceId };
  return open({ ...plan, options: { ...plan.options, memory } });
}

export type Sent = Omit<SendToolApprovalOptions, 'threadId' | 'resourceId'> & Partial<typeof thread>;

/** Decides, and resolves when what follows has come to rest. */
export async function sendAndFollow(scene: Scene, options: Sent): ReturnType<Scene['send']> {
  const works: Promise<void>[] = [];
  const answer = await scene.send({ ...thread, ...options, waitUntil: (work) => works.push(work) });
  await Promise.all(works);
  return answer;
}

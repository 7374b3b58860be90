/** Specification, resuming after a restart: what waits is found in the store, by another process's agent. */
import { Agent, createTool, type RunOptions } from 'countersign';
import { type Script, scriptedModel } from 'countersign/testing';
import { describe, expect } from 'vitest';
import { z } from 'zod';
import { type Kit, onEachStore } from './each-store.ts';
import { promptOf, type Terminal, terminal } from './harness.ts';

async function decideWhatWaits({
  agent,
  console,
  process,
}: { agent: Agent } & Pick<Terminal, 'console' | 'process'>) {
  const { runs } = await agent.listSuspendedRuns({
    threadId: 'thread-123',
    resourceId: 'user-456',
  });

  const run = runs[0];
  const toolCall = run?.toolCalls[0];

  if (run && toolCall) {
    let stream: Awaited<ReturnType<Agent['stream']>>;
    if (toolCall.requiresApproval) {
      stream = await agent.approveToolCall({ runId: run.runId, toolCallId: toolCall.toolCallId });
    } else {
      console.log('Tool asked:', toolCall.suspendPayload);
      stream = await agent.resumeStream({ name: 'San Francisco' }, { runId: run.runId });
    }
    for await (const chunk of stream.textStream) process.stdout.write(chunk);
  }
  return { runs, run, toolCall };
}

/** An agent as a process has it: its own objects, its own handle on the store. `effects` outlives it. */
function processOn(kit: Kit, script: Script, effects: string[]) {
  const deleteTool = createTool({
    id: 'delete-city',
    inputSchema: z.object({ name: z.string() }),
    requireApproval: true,
    execute: async ({ name }) => {
      effects.push(`deleted ${name}`);
      return { deleted: true };
    },
  });
  const askTool = createTool({
    id: 'add-city',
    inputSchema: z.object({}),
    suspendSchema: z.object({ question: z.string() }),
    resumeSchema: z.object({ name: z.string() }),
    execute: async (_input, { agent: { resumeData, suspend } }) => {
      if (!resumeData) return suspend({ question: 'Which city?' });
      effects.push(`added ${resumeData.name}`);
      return { added: resumeData.name };
    },
  });
  const model = scriptedModel(script);
  const agent = new Agent({ id: 'city-agent', model, tools: { deleteTool, askTool } });
  return { agent, model, exit: kit.openProcess([agent]).exit };
}

const conversation = (thread: string, resource: string): RunOptions => ({ memory: { thread, resource } });
const mine = conversation('thread-123', 'user-456');
const deletion = { calls: [{ toolName: 'delete-city', args: { name: 'Atlantis' } }] };
const addition = { calls: [{ toolName: 'add-city' }] };

describe('after a restart', () => {
  onEachStore('after a restart', 'a held call is found by its thread and approved', async (kit) => {
    const effects: string[] = [];
    const first = processOn(kit, [deletion, deletion], effects);
    const { runId } = await first.agent.generate('Delete Atlantis', mine);
    // Another person's run on the same store is neither listed nor touched.
    const foreign = await first.agent.generate('Delete Atlantis', conversation('thread-999', 'user-1'));
    const before = await first.agent.listSuspendedRuns({ threadId: 'thread-123', resourceId: 'user-456' });
    expect(before.runs.map((run) => run.runId)).toEqual([runId]);
    await first.exit();

    const second = processOn(kit, ['Atlantis is no more.'], effects);
    const { console, process, printed, logged } = terminal();
    const { runs, toolCall } = await decideWhatWaits({ agent: second.agent, console, process });
    expect(runs).toHaveLength(1);
    expect(toolCall).toMatchObject({
      toolName: 'delete-city',
      args: { name: 'Atlantis' },
      requiresApproval: true,
    });
    expect(effects).toEqual(['deleted Atlantis']);
    expect(printed()).toBe('Atlantis is no more.');
    expect(logged).toEqual([]);
    expect(promptOf(second.model, 0)).toContain('"deleted":true');

    // The handler is called once more: there is nothing left to decide.
    expect(await decideWhatWaits({ agent: second.agent, console, process })).toMatchObject({ runs: [] });
    expect(effects).toHaveLength(1);
    const left = await second.agent.listSuspendedRuns();
    expect(left.runs.map((run) => run.runId)).toEqual([foreign.runId]);
    await second.agent.cancelRun({ runId: foreign.runId });
  });

  onEachStore('after a restart', 'a suspended call is found by its thread and resumed', async (kit) => {
    const effects: string[] = [];
    const first = processOn(kit, [addition], effects);
    const waiting = await first.agent.generate('Add a city', mine);
    expect(waiting.finishReason).toBe('suspended');
    await first.exit();

    const second = processOn(kit, ['It is on the map.'], effects);
    const { console, process, printed, logged } = terminal();
    const { run, toolCall } = await decideWhatWaits({ agent: second.agent, console, process });
    expect(run).toMatchObject({ runId: waiting.runId, threadId: 'thread-123', resourceId: 'user-456' });
    expect(toolCall).toMatchObject({ toolName: 'add-city', requiresApproval: false, args: {} });
    expect(logged).toEqual([['Tool asked:', { question: 'Which city?' }]]);
    expect(effects).toEqual(['added San Francisco']);
    expect(printed()).toBe('It is on the map.');
    expect(promptOf(second.model, 0)).toContain('"added":"San Francisco"');
  });

  onEachStore('after a restart', 'a held call is declined: nothing happens', async (kit) => {
    const effects: string[] = [];
    const first = processOn(kit, [deletion], effects);
    const { runId } = await first.agent.generate('Delete Atlantis', mine);
    await first.exit();

    const second = processOn(kit, ['Then it stays.'], effects);
    const declined = await second.agent.declineToolCallGenerate({ runId, reason: 'it is a nice place' });
    expect(declined.text).toBe('Then it stays.');
    expect(effects).toEqual([]);
    expect(promptOf(second.model, 0)).toContain('it is a nice place');
  });

  onEachStore('after a restart', 'the first process goes on living: one decision wins', async (kit) => {
    const effects: string[] = [];
    const first = processOn(kit, [deletion, 'Gone (1).'], effects);
    const second = processOn(kit, ['Gone (2).'], effects);
    const { runId } = await first.agent.generate('Delete Atlantis', mine);
    const answers = await Promise.allSettled([
      first.agent.approveToolCallGenerate({ runId }),
      second.agent.approveToolCallGenerate({ runId }),
    ]);
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(answers.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { code: 'already-decided' },
    });
    expect(effects).toEqual(['deleted Atlantis']);
  });
});

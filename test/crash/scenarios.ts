/** The scenarios of the crash matrix. Every call has an id of its own, as a new process begins to count anew. */
import type { ScriptedCall } from '../../src/testing/scripted-model.ts';
import type { Scenario, ToolName } from './desk.ts';

const call = (toolName: ToolName, id: string): ScriptedCall => ({
  toolName,
  args: { id },
  toolCallId: `${toolName}-${id}`,
});

const asks = (...calls: readonly ScriptedCall[]) => ({ text: 'One moment.', calls });

export const scenarios: readonly Scenario[] = [
  { name: 'one held call, approved', steps: [asks(call('pay', 'a')), 'Done.'] },
  {
    name: 'three calls mixed: free, held and approved, held and declined',
    steps: [asks(call('note', 'a'), call('pay', 'b'), call('pay', 'no-c')), 'Done.'],
  },
  { name: 'suspend and resume', steps: [asks(call('ship', 'a')), 'Done.'] },
  { name: 'suspend and decline', steps: [asks(call('ship', 'no-a')), 'Done.'] },
  { name: 'decline', steps: [asks(call('pay', 'no-a')), 'Done.'] },
  {
    name: 'durable, without a pause, with a free tool',
    steps: [asks(call('note', 'a')), 'Done.'],
    options: { durable: true },
  },
  {
    name: 'durable, free tools that may be repeated and that may not, one at a time',
    steps: [asks(call('look', 'a'), call('note', 'b'), call('look', 'c')), 'Done.'],
    options: { durable: true, toolCallConcurrency: 1 },
  },
  { name: 'idempotent', steps: [asks(call('charge', 'a')), 'Done.'] },
  { name: 'cancel while waiting', steps: [asks(call('pay', 'a'), call('pay', 'b')), 'Done.'], cancels: true },
  {
    name: 'two steps with a held call each',
    steps: [asks(call('pay', 'a')), asks(call('pay', 'b'), call('note', 'c')), 'Done.'],
  },
  {
    name: 'three held calls decided at once',
    steps: [asks(call('pay', 'a'), call('charge', 'b'), call('pay', 'no-c')), 'Done.'],
    decidesAtOnce: true,
  },
  {
    name: 'durable: suspended beside a held call, then a free one',
    steps: [asks(call('ship', 'a'), call('pay', 'b')), asks(call('note', 'c')), 'Done.'],
    options: { durable: true },
  },
];

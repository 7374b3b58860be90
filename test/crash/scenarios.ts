/** The scenarios of the crash matrix. Every call has an id of its own, as a new process begins to count anew. */
import type { ScriptedCall } from '../../src/testing/scripted-model.ts';
import type { Scenario, Step, ToolName } from './desk.ts';

const call = (toolName: ToolName, id: string): ScriptedCall => ({
  toolName,
  args: { id },
  toolCallId: `${toolName}-${id}`,
});

const asks = (...calls: readonly ScriptedCall[]) => ({ text: 'One moment.', calls });

/** A delegation to a sub-agent, and what the model below answers. */
const to = (key: 'helper' | 'deep', id: string, ...steps: readonly Step[]) => ({
  toolName: `agent-${key}`,
  toolCallId: `to-${key}-${id}`,
  steps,
});

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
  {
    name: 'team: held below, approved',
    steps: [asks(to('helper', '1', asks(call('pay', 'a'), call('note', 'b')), 'Below.')), 'Done.'],
  },
  {
    name: 'team: held below, declined',
    steps: [asks(to('helper', '1', asks(call('pay', 'no-a')), 'Below.')), 'Done.'],
  },
  {
    name: 'team: suspended below, beside a held call',
    steps: [asks(to('helper', '1', asks(call('ship', 'a')), 'Below.'), call('pay', 'b')), 'Done.'],
  },
  {
    name: 'team: two delegations decided at once',
    steps: [
      asks(
        to('helper', '1', asks(call('pay', 'a')), 'Below.'),
        to('helper', '2', asks(call('charge', 'b'), call('pay', 'no-c')), 'Below.'),
      ),
      'Done.',
    ],
    decidesAtOnce: true,
  },
  {
    name: 'team: depth 2, a held call and a free one',
    steps: [
      asks(
        to(
          'helper',
          '1',
          asks(to('deep', '1', asks(call('pay', 'a'), call('look', 'b')), 'Deep.')),
          'Below.',
        ),
      ),
      'Done.',
    ],
  },
  {
    name: 'team: durable, with a free tool below',
    steps: [asks(to('helper', '1', asks(call('note', 'a')), 'Below.'), call('note', 'b')), 'Done.'],
    options: { durable: true },
  },
  {
    name: 'team: cancelled while it waits below',
    steps: [asks(to('helper', '1', asks(call('pay', 'a')), 'Below.'), call('pay', 'b')), 'Done.'],
    cancels: true,
  },
];

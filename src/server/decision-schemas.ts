/** Decisions, as answers tell them. */
import type { PathStep } from '../core/below.ts';
import type { Answering, Person } from '../core/event.ts';
import type { DecisionPage, DecisionRecord, ListedDecision, RecordedOutcome } from '../core/store.ts';
import {
  always,
  answer,
  any,
  listOf,
  milliseconds,
  object,
  oneOf,
  page,
  ref,
  text,
  told,
  whole,
} from './json-schema.ts';

const decisionFields = {
  runId: text,
  toolCallId: text,
  path: listOf(ref('PathStep')),
  stop: whole,
  agentId: text,
  toolName: text,
  approver: told('Who had to decide it.', oneOf('owner', 'reviewer')),
  verdict: oneOf('approve', 'decline', 'resume', 'resolve', 'cancel', 'ran-twice'),
  at: milliseconds,
  by: ref('Person'),
  via: told(
    'The door through which it came; left out: from code.',
    oneOf('http', 'chat', 'thread', 'auto-resume'),
  ),
  reason: text,
  decisionId: text,
  addressed: { const: 'latest' },
  answering: answer<Answering>({ runId: text, toolCallId: text }),
  fingerprint: text,
};
const optionalInDecision = [
  ...([
    'path',
    'approver',
    'by',
    'via',
    'reason',
    'decisionId',
    'addressed',
    'answering',
    'outcome',
  ] as const),
] as const;
const outcomeFields = {
  state: oneOf('finished', 'failed', 'declined', 'cancelled', 'suspended', 'interrupted'),
  at: milliseconds,
};

export const decisionSchemas = {
  PathStep: answer<PathStep>({ agentId: text, toolCallId: text }),
  Person: answer<Person>({ id: text, name: text, messageId: text }, 'name', 'messageId'),
  Decision: told(
    'As it is recorded, without arguments, data and results.',
    answer<
      Omit<DecisionRecord, 'args' | 'data' | 'resolution' | 'outcome'> & {
        outcome?: Pick<RecordedOutcome, 'state' | 'at'>;
      }
    >(
      { ...decisionFields, outcome: answer<Pick<RecordedOutcome, 'state' | 'at'>>(outcomeFields) },
      ...optionalInDecision,
    ),
  ),
  Decisions: answer<Omit<DecisionPage, 'total'> & Partial<DecisionPage>>(
    {
      decisions: listOf(
        answer<ListedDecision>(
          {
            ...decisionFields,
            threadId: text,
            resourceId: text,
            args: told('Left out above 16 KB.', any),
            data: told('What was given to a call that asked.', any),
            resolution: told('How an interrupted call was resolved.', any),
            outcome: answer<RecordedOutcome>(
              { ...outcomeFields, result: any, error: object, truncated: always },
              'result',
              'error',
              'truncated',
            ),
          },
          ...optionalInDecision,
          ...(['threadId', 'resourceId', 'args', 'data', 'resolution'] as const),
        ),
      ),
      ...page,
    },
    ...(['total', 'totalIsAtLeast', 'cursor'] as const),
  ),
};

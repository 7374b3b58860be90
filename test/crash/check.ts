/** Says what is wrong with a run that crashed and was brought to its end. Fed with broken stores, it must complain. */
import type { EndedRun, OpenRun, Store } from '../../src/core/store.ts';
import { repeatableTools, type Scenario } from './desk.ts';
import { type Entry, factsOf } from './journal.ts';

export interface Evidence {
  readonly scenario: Scenario;
  readonly entries: readonly Entry[];
  /** What the store has of the run in the end. */
  readonly stored: OpenRun | EndedRun | undefined;
  /** Whether the store still lists it, or would have it moved. */
  readonly isListed: boolean;
  readonly isAbandoned: boolean;
}

export async function evidenceOf(
  store: Store,
  scenario: Scenario,
  runId: string,
  entries: readonly Entry[],
): Promise<Evidence> {
  const { runs } = await store.list({ status: 'all', limit: 1000 });
  const abandoned = await store.workers.abandoned(0, 1000);
  return {
    scenario,
    entries,
    stored: await store.load(runId, 0),
    isListed: runs.some((run) => run.runId === runId),
    isAbandoned: abandoned.some((run) => run.runId === runId),
  };
}

const rules: readonly ((evidence: Evidence) => string[])[] = [
  nothingWrong,
  effectsAtMostOnce,
  decidedBeforeEffect,
  toldWhatHappened,
  recordedAsAsked,
  approvedIsDone,
  ended,
];

export function problemsOf(evidence: Evidence): string[] {
  return rules.flatMap((rule) => rule(evidence));
}

function nothingWrong({ entries }: Evidence): string[] {
  return factsOf(entries, 'wrong').map(({ what }) => what);
}

/** For a tool that may be repeated, as a service sees it that deduplicates by the key. */
function countsOf(entries: readonly Entry[]): Map<string, number> {
  const effects = new Map<string, Entry[]>();
  for (const effect of factsOf(entries, 'effect')) {
    effects.set(effect.toolCallId, [...(effects.get(effect.toolCallId) ?? []), effect]);
  }
  return new Map(
    [...effects].map(([toolCallId, all]) => {
      const [first] = factsOf(all, 'effect');
      const keys = new Set(factsOf(all, 'effect').map(({ key }) => key));
      return [toolCallId, repeatableTools.includes(first?.toolName ?? '') ? keys.size : all.length];
    }),
  );
}

function effectsAtMostOnce({ entries }: Evidence): string[] {
  return [...countsOf(entries)]
    .filter(([, count]) => count > 1)
    .map(([toolCallId, count]) => `${toolCallId} happened ${count} times`);
}

/** Of the tools of the desk, these wait for a word before they do anything. */
function decidedBeforeEffect({ entries }: Evidence): string[] {
  return factsOf(entries, 'effect').flatMap(({ toolCallId, toolName }) => {
    if (!['pay', 'charge', 'ship'].includes(toolName)) return [];
    const asked = factsOf(entries, 'asked').filter((decision) => decision.toolCallId === toolCallId);
    if (asked.some(({ verdict }) => verdict === 'decline'))
      return [`${toolCallId} was declined and happened`];
    return asked.some(({ verdict }) => verdict === 'approve' || verdict === 'resume')
      ? []
      : [`${toolCallId} happened, and nobody had allowed it`];
  });
}

/** A result that the tool gave means that it happened; the model never reads two results of one call. */
function toldWhatHappened({ entries }: Evidence): string[] {
  const counts = countsOf(entries);
  const told = new Map<string, Set<string>>();
  for (const { toolCallId, output } of factsOf(entries, 'told')) {
    told.set(toolCallId, (told.get(toolCallId) ?? new Set()).add(output));
  }
  return [...told].flatMap(([toolCallId, outputs]) => {
    if (outputs.size > 1) return [`the model read different results of ${toolCallId}`];
    const [output = ''] = outputs;
    const { type, value } = JSON.parse(output) as { type: string; value?: { by?: string } };
    const count = counts.get(toolCallId) ?? 0;
    // Of a delegation the model reads what the sub-agent says in the end.
    if (isDelegation(toolCallId)) return type === 'text' ? [] : [`the model read ${output} of ${toolCallId}`];
    if (type === 'json') return count === 1 ? [] : [`${toolCallId} is reported, and happened ${count} times`];
    if (type === 'execution-denied' && count === 0) return [];
    return [
      `the model read ${type} of ${toolCallId} (${value?.by ?? 'nobody'}), which happened ${count} times`,
    ];
  });
}

function isDelegation(toolCallId: string): boolean {
  return /(^|~)to-[^~]*$/.test(toolCallId);
}

/** Every acknowledged decision is recorded with its verdict, and nothing else is recorded. */
function recordedAsAsked({ entries, stored }: Evidence): string[] {
  const records = stored?.kind === 'ended' ? stored.records : [];
  const at = (one: { toolCallId: string; stop: number }): string => `${one.toolCallId}, stop ${one.stop}`;
  const wasAsked = factsOf(entries, 'cancel-asked').length > 0;
  return [
    ...factsOf(entries, 'acknowledged').flatMap((decision) => {
      const record = records.find((one) => at(one) === at(decision));
      return record?.verdict === decision.verdict
        ? []
        : [
            `${decision.verdict} of ${at(decision)} was acknowledged; recorded: ${record?.verdict ?? 'nothing'}`,
          ];
    }),
    ...records.flatMap((record) => {
      if (record.verdict === 'cancel') return wasAsked ? [] : [`${at(record)} was cancelled by nobody`];
      const asked = factsOf(entries, 'asked').filter((one) => at(one) === at(record));
      return asked.some(({ verdict }) => verdict === record.verdict)
        ? []
        : [`${record.verdict} of ${at(record)} is recorded, and nobody asked for it`];
    }),
  ];
}

/** What a person allowed and the run did not cancel has happened by the end: they looked, and ran it again if not. */
function approvedIsDone({ entries, stored }: Evidence): string[] {
  if (stored?.kind !== 'ended' || stored.outcome.status !== 'finished') return [];
  const counts = countsOf(entries);
  return factsOf(entries, 'acknowledged')
    .filter(({ verdict, toolCallId }) => verdict !== 'decline' && (counts.get(toolCallId) ?? 0) !== 1)
    .map(
      ({ verdict, toolCallId }) =>
        `${verdict} of ${toolCallId}: it happened ${counts.get(toolCallId) ?? 0} times`,
    );
}

function ended({ entries, stored, scenario, isListed, isAbandoned }: Evidence): string[] {
  const expected =
    factsOf(entries, 'cancel-acknowledged').length > 0 ? ['cancelled'] : ['finished', 'cancelled'];
  const wasStored = entries.some(({ type }) => type === 'announced' || type === 'acknowledged');
  return [
    ...(isListed ? ['the run is still listed'] : []),
    ...(isAbandoned ? ['the run waits to be taken over'] : []),
    ...(stored?.kind === 'open' ? ['the run is not ended'] : []),
    ...(stored === undefined && wasStored ? ['the run is gone without an outcome'] : []),
    ...(stored?.kind === 'ended' && !expected.includes(stored.outcome.status)
      ? [`the run ended ${stored.outcome.status}`]
      : []),
    ...(stored?.kind === 'ended' && stored.outcome.status === 'cancelled' && !scenario.cancels
      ? ['the run was cancelled by nobody']
      : []),
  ];
}

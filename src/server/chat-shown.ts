/** What of its calls a message shows: where each waits for a person, by the parts that say so. Pure. */
import { approvalIdOf } from '../conversation/approval-id.ts';
import { isObject, isToolPart, type UiPart } from '../conversation/ui-parts.ts';

export interface ShownCall {
  /** It is in `input-available`: its tool runs, or asks. */
  readonly isOpen: boolean;
  /** The id of the stop at which it is shown to wait. */
  readonly stop?: string | undefined;
}

/** The calls of a message, by their ids. */
export function shownCalls(parts: readonly UiPart[]): Map<string, ShownCall> {
  const questions = questionsIn(parts);
  return new Map(
    parts.filter(isToolPart).map(({ toolCallId, state, approval }): [string, ShownCall] => {
      const id = String(toolCallId);
      if (state === 'input-available') return [id, { isOpen: true, stop: questions.get(id) }];
      if (state !== 'approval-requested' || !isObject(approval)) return [id, { isOpen: false }];
      return [id, { isOpen: false, stop: String(approval.id) }];
    }),
  );
}

/** The ids of the stops at which calls ask, by the ids of the calls. */
export function questionsIn(parts: readonly UiPart[]): Map<string, string> {
  return new Map(
    parts.flatMap(({ type, id, data }): [string, string][] => {
      if (type !== 'data-tool-call-suspended' || !isObject(data)) return [];
      const { runId, stop } = data;
      const toolCallId = String(id);
      return [[toolCallId, approvalIdOf({ runId: String(runId), toolCallId, stop: Number(stop) })]];
    }),
  );
}

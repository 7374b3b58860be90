/** The model of the guides: for each question it has the answers; after them it says what its calls came to. */
import { type ScriptedModel, type ScriptStep, scriptedModel } from 'countersign/testing';

/** The answers to a question, which is the text of the user's last message. */
export type Answers = Readonly<Record<string, readonly ScriptStep[]>>;

type Prompt = Parameters<ScriptedModel['doStream']>[0]['prompt'];
type Results = Extract<Prompt[number], { role: 'tool' }>['content'];

/** It looks at the prompt alone, so that it answers the same after a restart. */
export function answering(answers: Answers): ScriptedModel {
  return scriptedModel((prompt) => {
    const place = prompt.findLastIndex(({ role }) => role === 'user');
    const question = textOf(prompt[place]);
    const given = prompt.slice(place).filter(({ role }) => role === 'assistant').length;
    const script = answers[question];
    if (script === undefined) throw new Error(`The model has no answer to "${question}".`);
    const last = prompt.at(-1);
    return script[given] ?? (last?.role === 'tool' ? `I read: ${read(last.content)}` : 'Done.');
  });
}

function textOf(message: Prompt[number] | undefined): string {
  if (message?.role !== 'user') return '';
  return message.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

function read(results: Results): string {
  const outputs = results.map((result) => {
    if (result.type !== 'tool-result') return result.type;
    const { output } = result;
    if (output.type === 'execution-denied') return output.reason ?? 'denied';
    return typeof output.value === 'string' ? output.value : JSON.stringify(output.value);
  });
  return outputs.join(' + ');
}

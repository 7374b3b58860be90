import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runExample, temporaryFolder } from './run-example.ts';

const outputs: Readonly<Record<string, string>> = {
  '02-quickstart': `
I will delete it.
held: delete-record {"id":"abc-123"}, deleted so far: 0
The record abc-123 is gone.
deleted: abc-123`,

  '03-suspend-and-resume': `
suspended: Nori is full at 20:00. When else? free: 18:00, 21:30
refused: invalid-resume-data
booked: Nori at 21:30
You have a table at Nori at 21:30.`,

  '04-conditional-approval': `
ran: 20 went to Ben
held: transfer {"to":"Ada","amount":2000}
ran: 2000 went to Ada
held: delete-note {"id":7}
ran: note 7 is deleted
All done.`,

  '05-generate': `
held: publish "We are the best"
declined: Too loud.
held: publish "We try hard"
approved
It is published as "We try hard".
published: We try hard`,

  '06-two-held-calls': `
ran at once: mail is up
held: restart web
held: restart database
after the first decision: suspended, model calls: 1
ran: web was restarted
after the second decision: stop, model calls: 2
The web server was restarted, the database was not.`,

  '07-approve-after-restart': `
process "ask"
  suspended: this process ends now
process "approve"
  waiting: send-money {"to":"Ada","amount":50}
  sent: 50 to Ada
  The money is on its way.
  still waiting: 0`,

  '08-restart-after-kill': `
process "ask"
  suspended; this process is killed now
process "approve"
  still waiting: send-money {"to":"Ada","amount":50}
  the money is sent; this process is killed now
process "recover"
  interrupted: send-money; the bank says: 50 to Ada
  Ada has her 50.
sent altogether: 50 to Ada`,

  '09-two-instances': `
  agent: suspended
  review: Ada approves
  agent: web is restarted
  agent: The server is back.
driven by the review instance: false`,
};

test.each(Object.entries(outputs))('%s prints what happened', async (name, expected) => {
  const { code, stdout, stderr } = await runExample(`examples/${name}/main.ts`, [temporaryFolder()]);
  expect(stdout.trim()).toBe(expected.trim());
  // A bare agent warns once that its runs do not outlive the process; nothing else is worth a warning.
  const warnings = stderr.split('\n').filter((line) => line !== '');
  expect(warnings.filter((line) => !line.includes('its runs live in this process only'))).toEqual([]);
  expect(warnings.length).toBeLessThanOrEqual(1);
  expect(code).toBe(0);
});

test('each example is run by a test', () => {
  const folders = readdirSync(import.meta.dirname, { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  );
  expect(folders.map(({ name }) => name)).toEqual(['01-refund-desk', ...Object.keys(outputs)]);
});

/**
 * Every TypeScript example of the specification, and where it is executed. `original.test.ts` holds this list against
 * the page itself.
 */

export interface Example {
  readonly name: string;
  /** A line that this example alone has. */
  readonly mark: string;
  /** The file of this folder that holds the example's code. */
  readonly executedIn: string;
  /** The example whose names this one uses: both are checked as one. */
  readonly continues?: string;
}

const list = [
  { name: 'quickstart', mark: "id: 'delete-record',", executedIn: 'quickstart.test.ts' },
  {
    name: 'request approval',
    mark: "console.log('Tool:', chunk.payload.toolName)",
    executedIn: 'quickstart.test.ts',
  },
  {
    name: 'conditional approval',
    mark: "agent.stream('Clean up old records', {",
    executedIn: 'conditional.test.ts',
  },
  {
    name: 'fingerprint agent',
    mark: 'export const approvalBoundAgent = new Agent({',
    executedIn: 'fingerprint-example.ts',
  },
  {
    name: 'fingerprint stream',
    mark: 'async function consumeApprovalStream(',
    executedIn: 'fingerprint-example.ts',
    continues: 'fingerprint agent',
  },
  { name: 'suspending tool', mark: "id: 'get-weather',", executedIn: 'suspend.test.ts' },
  {
    name: 'generate',
    mark: "await agent.generate('Find user John', {",
    executedIn: 'generate.test.ts',
  },
  {
    name: 'tool-level approval',
    mark: 'export const testTool = createTool({',
    executedIn: 'tool-level.test.ts',
  },
  { name: 'tool-level flow', mark: 'const handleApproval = async () => {', executedIn: 'tool-level.test.ts' },
  { name: 'approval by suspend', mark: "id: 'test-tool-b',", executedIn: 'suspend-approval.test.ts' },
  { name: 'resume flow', mark: 'const handleResume = async () => {', executedIn: 'suspend-approval.test.ts' },
  { name: 'auto-resume agent', mark: 'autoResumeSuspendedTools: true,', executedIn: 'auto-resume.test.ts' },
  { name: 'auto-resume tool', mark: "id: 'weather-tool',", executedIn: 'auto-resume.test.ts' },
  {
    name: 'auto-resume conversation',
    mark: "await agent.stream('San Francisco')",
    executedIn: 'auto-resume.test.ts',
  },
  { name: 'after a restart', mark: "threadId: 'thread-123',", executedIn: 'restart.test.ts' },
  { name: 'supervisor', mark: 'agents: { dataAgent },', executedIn: 'supervisor.test.ts' },
  { name: 'supervised tool', mark: "id: 'conditional-operation',", executedIn: 'supervisor.test.ts' },
  {
    name: 'supervisor resume',
    mark: 'const resumeStream = await supervisorAgent.resumeStream(',
    executedIn: 'supervisor.test.ts',
  },
  {
    name: 'supervisor generate',
    mark: 'await supervisorAgent.generate(',
    executedIn: 'supervisor.test.ts',
  },
] as const satisfies readonly Example[];

export type ExampleName = (typeof list)[number]['name'];

export const examples: readonly (Example & { readonly name: ExampleName })[] = list;

/** Names that the examples use and do not declare, as they are meant. */
export const freeNames: Readonly<Record<string, string>> = {
  z: "import { z } from 'zod';",
  createTool: "import { createTool } from 'countersign';",
  database:
    'declare const database: { findUser(id: string): Promise<{ id: string; name: string; email: string }> };',
  db: 'declare const db: { delete(id: string): Promise<void> };',
  fetchWeather: 'declare function fetchWeather(location: string): Promise<{ weather: string }>;',
  performOperation: 'declare function performOperation(operation: string): Promise<{ done: boolean }>;',
  showApprovalDialog:
    'declare function showApprovalDialog(shown: { toolName: string; args: unknown; fingerprint: string }): Promise<boolean>;',
  issueRefundTool: "declare const issueRefundTool: import('countersign').Tool;",
  deleteRecordTool: "declare const deleteRecordTool: import('countersign').Tool;",
  weatherTool: "declare const weatherTool: import('countersign').Tool;",
  agent: "declare const agent: import('countersign').Agent;",
  supervisorAgent: "declare const supervisorAgent: import('countersign').Agent;",
  stream: "declare const stream: import('countersign').AgentStream;",
};

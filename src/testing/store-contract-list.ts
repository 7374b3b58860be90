/** The checks of the list: which runs it shows, and which calls of them. */
import assert from 'node:assert/strict';
import type { ListQuery } from '../core/store.ts';
import { checksFrom } from './store-contract-check.ts';
import {
  create,
  createWith,
  end,
  listedIds,
  noStop,
  same,
  sampleBatch,
  sampleCall,
  sampleHead,
  sampleText,
} from './store-contract-sample.ts';

export const listChecks = checksFrom({
  'a listed call comes with the texts of the events that it refers to': async ({ open }) => {
    const store = await open();
    const head = sampleHead({ threadId: 'thread', resourceId: 'resource', suspendedSince: 1500 });
    const held = sampleCall('run', 'held', { requestSeq: 2, stopSeq: 2 });
    const suspended = sampleCall('child', 'suspended', {
      stop: 3,
      kind: 'suspended',
      toolName: 'mail',
      since: 1500,
      requestSeq: 3,
      stopSeq: 5,
    });
    await create(store, 'run', {
      head,
      events: [1, 2, 3, 4, 5].map((seq) => sampleText('run', seq)),
      opened: [suspended, held],
    });
    const expected = {
      runId: 'run',
      agentId: 'agent',
      threadId: 'thread',
      resourceId: 'resource',
      status: 'suspended',
      since: 1500,
      calls: [
        { call: held, request: sampleText('run', 2) },
        { call: suspended, request: sampleText('run', 3), suspension: sampleText('run', 5) },
      ],
    };
    same(await store.list({ status: 'suspended', limit: 10 }), { runs: [expected], total: 1 }, 'the page');
  },

  'a listed call comes with the delegations that lead to it': async ({ open }) => {
    const store = await open();
    const path = [
      { agentId: 'billing "ä" 🙂', toolCallId: 'delegate' },
      { agentId: 'refunds', toolCallId: 'delegate~again' },
    ];
    const calls = {
      root: sampleCall('run', 'root'),
      inner: sampleCall('child', 'delegate~again~inner', { path }),
      moved: sampleCall('child', 'moved', { path: path.slice(0, 1) }),
    };
    const text = JSON.stringify(calls);
    const pathsOf = async (): Promise<unknown> => {
      const [run] = (await store.list({ status: 'all', limit: 10 })).runs;
      return Object.fromEntries(run?.calls.map(({ call }) => [call.toolCallId, call.path ?? 'none']) ?? []);
    };
    await create(store, 'run', { opened: Object.values(calls) });
    (path[0] as { agentId: string }).agentId = 'changed';
    const { root, inner, moved } = JSON.parse(text) as typeof calls;
    const expected = { root: 'none', [inner.toolCallId]: inner.path, moved: moved.path };
    same(await pathsOf(), expected, 'as they were opened');
    await store.append(
      sampleBatch('run', 1, {
        opened: [
          { ...root, path: inner.path },
          { ...moved, path: undefined },
        ],
      }),
    );
    same(await pathsOf(), { ...expected, root: inner.path, moved: 'none' }, 'opened again');
  },

  'calls are listed in the order of the model': async ({ open }) => {
    const store = await open();
    const calls = [4, 2, 10, 1].map((seq) =>
      sampleCall('run', `call ${seq}`, { requestSeq: seq, stopSeq: seq }),
    );
    const events = Array.from({ length: 10 }, (_, index) => sampleText('run', index + 1));
    await create(store, 'run', { events, opened: calls.slice(0, 2) });
    await store.append(sampleBatch('run', 10, { opened: calls.slice(2) }));
    const [run] = (await store.list({ status: 'all', limit: 10 })).runs;
    same(
      run?.calls.map(({ call }) => call.requestSeq),
      [1, 2, 4, 10],
      'the calls',
    );
  },

  'a call that is opened again replaces its row': async ({ open }) => {
    const store = await open();
    await create(store, 'run', { opened: [sampleCall('run', 'call')] });
    const next = sampleCall('run', 'call', { stop: 2, kind: 'suspended', since: 3000, stopSeq: 2 });
    await store.append(sampleBatch('run', 1, { opened: [next] }));
    const [run] = (await store.list({ status: 'all', limit: 10 })).runs;
    const expected = [{ call: next, request: sampleText('run', 1), suspension: sampleText('run', 2) }];
    same(run?.calls, expected, 'the calls');
  },

  'a call that is closed leaves the list, and its neighbours stay': async ({ open }) => {
    const store = await open();
    await create(store, 'run', { opened: ['a', 'b', 'c'].map((id) => sampleCall('run', id)) });
    const change = { closed: [{ toolCallId: 'a' }, { toolCallId: 'c' }], opened: [sampleCall('run', 'd')] };
    await store.append(sampleBatch('run', 1, change));
    const [run] = (await store.list({ status: 'all', limit: 10 })).runs;
    same(run?.calls.map(({ call }) => call.toolCallId).sort(), ['b', 'd'], 'the calls');
  },

  'each status lists its runs, and of their calls those that it asks for': async ({ open }) => {
    const store = await open();
    const heads = {
      suspended: { suspendedSince: 1 },
      interrupted: { ...noStop, interruptedSince: 2 },
      stalled: { ...noStop, stalledSince: 3 },
      running: { ...noStop, head: 'owned' },
      both: { suspendedSince: 4, interruptedSince: 5 },
      held: { suspendedSince: 6, stalledSince: 7 },
    } as const;
    for (const [runId, head] of Object.entries(heads)) {
      const kinds = { suspended: ['held', 'suspended'], interrupted: ['interrupted'] } as const;
      const both = [...kinds.suspended, ...kinds.interrupted];
      const shown =
        runId === 'both'
          ? both
          : (kinds[(runId === 'held' ? 'suspended' : runId) as keyof typeof kinds] ?? []);
      const events = [1, 2, 3].map((seq) => sampleText(runId, seq));
      const opened = shown.map((kind, index) => sampleCall(runId, kind, { kind, requestSeq: index + 1 }));
      await create(store, runId, { head: sampleHead(head), events, opened });
    }
    const listed = async (status: ListQuery['status']) => {
      const { runs, total } = await store.list({ status, limit: 10 });
      assert.equal(total, runs.length, `total of ${status}`);
      return runs.map((run) => [run.runId, run.status, ...run.calls.map(({ call }) => call.kind)].join(' '));
    };
    same(
      await listed('suspended'),
      ['held stalled held suspended', 'both suspended held suspended', 'suspended suspended held suspended'],
      '1',
    );
    same(
      await listed('interrupted'),
      ['both suspended interrupted', 'interrupted interrupted interrupted'],
      '2',
    );
    same(await listed('stalled'), ['held stalled', 'stalled stalled'], 'stalled');
    same(await listed('running'), ['running running'], 'running');
    const all = await listed('all');
    same(
      [...all].sort(),
      [
        'both suspended held suspended interrupted',
        'held stalled held suspended',
        'interrupted interrupted interrupted',
        'running running',
        'stalled stalled',
        'suspended suspended held suspended',
      ],
      'all',
    );
    const stopped = all.filter((run) => !run.startsWith('running'));
    same(
      stopped.map((run) => run.split(' ')[0]),
      ['held', 'both', 'stalled', 'interrupted', 'suspended'],
      'the order',
    );
  },

  'a run moves between the statuses with its head': async ({ open }) => {
    const store = await open();
    await createWith(store, 'run', { suspendedSince: 1000 });
    const heads = [
      ['running', { ...noStop, head: 'owned' }],
      ['running', { ...noStop, head: 'runnable' }],
      ['interrupted', { ...noStop, interruptedSince: 2000 }],
      ['stalled', { ...noStop, stalledSince: 3000 }],
      ['suspended', { suspendedSince: 4000 }],
    ] as const;
    for (const [index, [status, head]] of heads.entries()) {
      await store.append(sampleBatch('run', index + 1, { head: sampleHead(head) }));
      for (const asked of ['suspended', 'interrupted', 'stalled', 'running'] as const) {
        const expected = asked === status ? ['run'] : [];
        same(await listedIds(store, { status: asked }), expected, `${status}, listed as ${asked}`);
      }
      const { runs } = await store.list({ status: 'all', limit: 10 });
      same(
        runs.map((run) => run.status),
        [status],
        'all',
      );
    }
    await end(store, 'run', 6);
    same(await listedIds(store), [], 'after the end');
  },

  'since is when the newest stop of the status began': async ({ open }) => {
    const store = await open();
    await createWith(store, 'run', { suspendedSince: 1000, interruptedSince: 3000, stalledSince: 2000 });
    const since = { suspended: 1000, interrupted: 3000, stalled: 2000, all: 3000 } as const;
    for (const [status, expected] of Object.entries(since)) {
      const { runs } = await store.list({ status: status as ListQuery['status'], limit: 10 });
      same(
        runs.map((run) => run.since),
        [expected],
        status,
      );
    }
    await createWith(store, 'running', noStop);
    const [running] = (await store.list({ status: 'running', limit: 10 })).runs;
    assert.ok(Number.isFinite(running?.since), 'a running run has a time');
  },

  'agent, thread and resource filter, each and together': async ({ open }) => {
    const store = await open();
    const values = [undefined, 'x', 'y'];
    const stops = [
      { suspendedSince: 1 },
      { ...noStop, interruptedSince: 1 },
      { ...noStop, stalledSince: 1 },
      noStop,
    ];
    const runs = ['x', 'y'].flatMap((agentId) =>
      values.flatMap((threadId) => values.map((resourceId) => ({ agentId, threadId, resourceId }))),
    );
    for (const [number, stop] of stops.entries()) {
      for (const run of runs)
        await createWith(store, `${number} ${Object.values(run).join('/')}`, { ...run, ...stop });
    }
    const queries = values.flatMap((agentId) =>
      values.flatMap((threadId) => values.map((resourceId) => ({ agentId, threadId, resourceId }))),
    );
    for (const status of ['suspended', 'interrupted', 'stalled', 'running', 'all'] as const) {
      for (const query of queries) {
        const matches = runs.filter((run) =>
          (['agentId', 'threadId', 'resourceId'] as const).every(
            (key) => query[key] === undefined || query[key] === run[key],
          ),
        );
        const page = await store.list({ status, limit: 100, ...query });
        const what = `${status} of ${JSON.stringify(query)}`;
        assert.equal(page.runs.length, matches.length * (status === 'all' ? 4 : 1), what);
        assert.equal(page.total, page.runs.length, `total of ${what}`);
        const short = await store.list({ status, limit: 1, ...query });
        assert.equal(short.total, page.total, `total of a short page of ${what}`);
        for (const { agentId, threadId, resourceId } of page.runs) {
          for (const [key, value] of Object.entries({ agentId, threadId, resourceId })) {
            const asked = query[key as keyof typeof query];
            assert.ok(asked === undefined || asked === value, `${key} of ${what}`);
          }
        }
      }
    }
  },
});

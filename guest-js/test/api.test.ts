import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { API_VERSION, createMcpApi, McpError } from '../src/index';
import { fakeHost } from './host';

/** What `promise` rejects with; fails the test if it resolves. */
async function rejection(promise: Promise<unknown>): Promise<McpError> {
  const outcome = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if (!('error' in outcome)) throw new Error(`resolved to ${JSON.stringify(outcome.value)}`);
  expect(outcome.error).toBeInstanceOf(McpError);
  return outcome.error as McpError;
}

/** How a channel travels. */
const CHANNEL = /^__CHANNEL__:\d+$/;

const never = () => new Promise(() => {});

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

describe('the methods', () => {
  it('send the command and the input of the contract, and resolve to the answer unchanged', async () => {
    const answer = { any: 'thing' };
    const host = fakeHost();
    const api = createMcpApi(host.invoke);
    const cases: [() => Promise<unknown>, string, Record<string, unknown>][] = [
      [() => api.listServers(), 'list_servers', {}],
      [() => api.getServerStatus('a'), 'get_server_status', { input: { serverId: 'a' } }],
      [() => api.connectServer({ serverId: 'a' }), 'connect_server', { input: { serverId: 'a' } }],
      [() => api.listTools('a'), 'list_tools', { input: { serverId: 'a' } }],
      [
        () => api.callTool({ serverId: 'a', name: 't', arguments: { x: 1 } }),
        'call_tool',
        {
          input: { serverId: 'a', name: 't', arguments: { x: 1 } },
          options: {},
          onProgress: expect.stringMatching(CHANNEL),
        },
      ],
      [
        () => api.requestApproval({ serverId: 'a', name: 't', argumentsJson: '{"x":1.0}' }),
        'request_approval',
        { input: { serverId: 'a', name: 't', argumentsJson: '{"x":1.0}' } },
      ],
      [() => api.listResources('a'), 'list_resources', { input: { serverId: 'a' } }],
      [() => api.listResourceTemplates('a'), 'list_resource_templates', { input: { serverId: 'a' } }],
      [
        () => api.readResource({ serverId: 'a', uri: 'demo://x' }, { timeoutMs: 10 }),
        'read_resource',
        { input: { serverId: 'a', uri: 'demo://x' }, options: { timeoutMs: 10 } },
      ],
      [() => api.listPrompts('a'), 'list_prompts', { input: { serverId: 'a' } }],
      [
        () => api.getPrompt({ serverId: 'a', name: 'p', arguments: { who: 'me' } }),
        'get_prompt',
        { input: { serverId: 'a', name: 'p', arguments: { who: 'me' } }, options: {} },
      ],
      [
        () =>
          api.complete({
            serverId: 'a',
            ref: { type: 'resourceTemplate', uriTemplate: 'demo://{x}' },
            argument: { name: 'x', value: 'y' },
            context: { z: '1' },
          }),
        'complete',
        {
          input: {
            serverId: 'a',
            ref: { type: 'resourceTemplate', uriTemplate: 'demo://{x}' },
            argument: { name: 'x', value: 'y' },
            context: { z: '1' },
          },
        },
      ],
    ];
    for (const [call, command, args] of cases) {
      host.handlers[command] = () => answer;
      expect(await call()).toBe(answer);
      expect(host.calls.at(-1)).toEqual({ command: `plugin:mcp-host|${command}`, args });
    }
  });

  it('that return nothing resolve to undefined, whatever the IPC gave', async () => {
    const host = fakeHost({ disconnect_server: () => null, open_settings: () => null });
    const api = createMcpApi(host.invoke);
    expect(await api.disconnectServer('a')).toBeUndefined();
    expect(await api.openSettings()).toBeUndefined();
    expect(host.calls.map((call) => call.args)).toEqual([{ input: { serverId: 'a' } }, {}]);
  });

  it('are bound, and cannot be replaced by another script', async () => {
    const host = fakeHost({ list_servers: () => [] });
    const api = createMcpApi(host.invoke);
    const { listServers } = api;
    expect(await listServers()).toEqual([]);
    expect(api.apiVersion).toBe(API_VERSION);
    expect(() => Object.assign(api, { callTool: () => null })).toThrow(TypeError);
  });

  it('pass unknown keys on, so that the host refuses them', async () => {
    const host = fakeHost({ connect_server: () => ({}) });
    await createMcpApi(host.invoke).connectServer({ serverId: 'a', command: 'rm' } as never);
    expect(host.calls[0]?.args).toEqual({ input: { serverId: 'a', command: 'rm' } });
  });
});

describe('a rejection', () => {
  const wire = { code: 'mcp.server_not_found', message: 'no server is called `x`', retryable: false, serverId: 'x' };

  it('of the host is an McpError with its code, fields and a message that starts with the code', async () => {
    const details = { path: '/a' };
    const host = fakeHost({
      list_tools: () => {
        throw { ...wire, details };
      },
    });
    const error = await rejection(createMcpApi(host.invoke).listTools('x'));
    expect(error).toBeInstanceOf(Error);
    expect(error.name).toBe('McpError');
    expect(error.message).toBe('mcp.server_not_found: no server is called `x`');
    expect(error.toJSON()).toEqual({ ...wire, message: error.message, details });
    expect(JSON.parse(JSON.stringify(error))).toEqual(error.toJSON());
  });

  it('does not say its code twice', async () => {
    const message = 'mcp.server_not_found: no server is called `x`';
    const host = fakeHost({
      list_tools: () => {
        throw { ...wire, message };
      },
    });
    expect((await rejection(createMcpApi(host.invoke).listTools('x'))).message).toBe(message);
  });

  it.each([
    ['an ACL denial', 'mcp-host.list_servers not allowed. Plugin not found'],
    ['an object that is no error of ours', { status: 500 }],
    ['a code that is not ours', { code: 'ENOENT', message: 'x' }],
    ['a thrown Error', new Error('IPC is gone')],
    ['nothing', undefined],
  ])('that is %s is mcp.ipc', async (_, thrown) => {
    const error = await rejection(createMcpApi(() => Promise.reject(thrown)).listServers());
    expect(error.code).toBe('mcp.ipc');
    expect(error.message).toMatch(/^mcp\.ipc: /);
    expect(error.cause).toBe(thrown);
  });

  it('of an unknown command is mcp.ipc', async () => {
    expect((await rejection(createMcpApi(fakeHost().invoke).listServers())).code).toBe('mcp.ipc');
  });

  it('that a wrapper of invoke put into an Error keeps its code', async () => {
    const wrapped = Object.assign(new Error('no server is called `x`'), { cause: wire });
    const error = await rejection(createMcpApi(() => Promise.reject(wrapped)).listServers());
    expect(error.code).toBe('mcp.server_not_found');
    expect(error.serverId).toBe('x');
  });

  it('keeps a code that only a newer host knows', async () => {
    const error = await rejection(
      createMcpApi(() => Promise.reject({ code: 'mcp.quota', message: 'm', retryable: true })).listServers(),
    );
    expect([error.code, error.retryable]).toEqual(['mcp.quota', true]);
  });

  it('is an McpError for another copy of this module too', async () => {
    vi.resetModules();
    const copy = await import('../src/index');
    expect(copy.McpError).not.toBe(McpError);
    const error = await rejection(copy.createMcpApi(() => Promise.reject(wire)).listServers());
    expect(error).toBeInstanceOf(McpError);
    expect(new Error('x')).not.toBeInstanceOf(McpError);
  });

  it('of a synchronously throwing invoke is a rejection', async () => {
    const api = createMcpApi(() => {
      throw 'no IPC here';
    });
    expect((await rejection(api.callTool({ serverId: 'a', name: 't' }))).code).toBe('mcp.ipc');
  });
});

describe('an input', () => {
  const api = () => createMcpApi(fakeHost({ call_tool: (args) => args, read_resource: (args) => args }).invoke);
  const cyclic: Record<string, unknown> = { list: [] };
  (cyclic.list as unknown[]).push(cyclic);
  let deep: unknown = 1;
  for (let level = 0; level < 100_000; level++) deep = [deep];

  it.each<[string, unknown, string]>([
    ['a BigInt', { n: 1n }, '/arguments/n'],
    ['NaN', { list: [0, Number.NaN] }, '/arguments/list/1'],
    ['infinity', Number.POSITIVE_INFINITY, '/arguments'],
    ['a function', { 'a/b~': () => 1 }, '/arguments/a~1b~0'],
    ['a symbol', { s: Symbol('x') }, '/arguments/s'],
    ['a cycle', cyclic, '/arguments/list/0'],
    ['half a surrogate pair', { t: 'a\ud800b' }, '/arguments/t'],
    ['half a surrogate pair in a key', { '\udc00': 1 }, '/arguments/\udc00'],
    ['a Map', { m: new Map([[1, 2]]) }, '/arguments/m'],
    ['bytes', { b: new Uint8Array(2) }, '/arguments/b'],
  ])('with %s is refused, naming the place', async (_, given, path) => {
    const error = await rejection(api().callTool({ serverId: 'a', name: 't', arguments: given }));
    expect(error.code).toBe('mcp.invalid_input');
    expect(error.details).toEqual({ path });
  });

  it('that is nested beyond all measure is refused, not a stack overflow', async () => {
    const error = await rejection(api().callTool({ serverId: 'a', name: 't', arguments: deep }));
    expect(error.code).toBe('mcp.invalid_input');
  });

  it.each([undefined, null, 'text', 7, [], () => 1])('that is no object (%s) is refused', async (input) => {
    const error = await rejection(api().callTool(input as never));
    expect([error.code, error.details]).toEqual(['mcp.invalid_input', { path: '' }]);
  });

  it('is read once: what a getter says later does not count', async () => {
    let reads = 0;
    const shifty = {
      get path() {
        reads++;
        return reads === 1 ? '/notes' : '/etc';
      },
    };
    const sent = await api().callTool({ serverId: 'a', name: 't', arguments: shifty });
    expect(sent).toMatchObject({ input: { arguments: { path: '/notes' } } });
    expect(reads).toBe(1);
  });

  it('is what JSON makes of it: dates, nested toJSON, undefined, the key __proto__', async () => {
    const given = {
      at: new Date(0),
      gone: undefined,
      list: [undefined, { toJSON: () => ({ x: 1 }) }],
      own: JSON.parse('{"__proto__": {"x": 1}}'),
    };
    const sent = await api().callTool({ serverId: 'a', name: 't', arguments: given });
    expect(JSON.stringify((sent as never as { input: { arguments: unknown } }).input.arguments)).toBe(
      JSON.stringify(given),
    );
  });

  it('that names one object twice is no cycle', async () => {
    const shared = { x: 1 };
    const sent = await api().callTool({ serverId: 'a', name: 't', arguments: { a: shared, b: [shared] } });
    expect(sent).toMatchObject({ input: { arguments: { a: { x: 1 }, b: [{ x: 1 }] } } });
  });
});

describe('options', () => {
  it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31, '5' as never])(
    'refuse a timeoutMs of %s',
    async (timeoutMs) => {
      const host = fakeHost({ call_tool: never });
      const error = await rejection(createMcpApi(host.invoke).callTool({ serverId: 'a', name: 't' }, { timeoutMs }));
      expect([error.code, error.details]).toEqual(['mcp.invalid_input', { path: '/timeoutMs' }]);
      expect(host.calls).toEqual([]);
    },
  );

  it('refuse what is no AbortSignal and what is no function', async () => {
    const api = createMcpApi(fakeHost({ call_tool: never }).invoke);
    const input = { serverId: 'a', name: 't' };
    expect((await rejection(api.callTool(input, { signal: {} as never }))).details).toEqual({
      path: '/signal',
    });
    expect((await rejection(api.callTool(input, { onProgress: 1 as never }))).details).toEqual({
      path: '/onProgress',
    });
  });
});

describe('an abort', () => {
  const input = { serverId: 'a', name: 't' };

  it('before the call sends nothing', async () => {
    const host = fakeHost();
    const signal = AbortSignal.abort('enough');
    const error = await rejection(createMcpApi(host.invoke).callTool(input, { signal }));
    expect([error.code, error.details, error.cause]).toEqual(['mcp.cancelled', { sent: false }, 'enough']);
    expect(host.calls).toEqual([]);
  });

  it('tells the host which request, and rejects with what the host says of it', async () => {
    let refuse: (reason: unknown) => void = () => {};
    const host = fakeHost({
      call_tool: () =>
        new Promise((_, reject) => {
          refuse = reject;
        }),
      cancel_call: () => {
        refuse({ code: 'mcp.cancelled', message: 'it was cancelled', retryable: false, details: { sent: true } });
        return null;
      },
    });
    const controller = new AbortController();
    const call = rejection(createMcpApi(host.invoke).callTool(input, { signal: controller.signal }));
    controller.abort();
    const error = await call;
    expect([error.code, error.details]).toEqual(['mcp.cancelled', { sent: true }]);
    const [called, cancelled] = host.calls;
    const requestId = (called?.args.options as { requestId: string } | undefined)?.requestId;
    expect(requestId).toMatch(/^[0-9a-f]{32}$/);
    expect(cancelled).toEqual({ command: 'plugin:mcp-host|cancel_call', args: { input: { requestId } } });
  });

  it('that comes when the call has been answered changes nothing', async () => {
    const host = fakeHost({ read_resource: () => ({ contents: [] }) });
    const controller = new AbortController();
    const signal = controller.signal;
    expect(await createMcpApi(host.invoke).readResource({ serverId: 'a', uri: 'x:y' }, { signal })).toEqual({
      contents: [],
    });
    controller.abort();
    await vi.runAllTimersAsync();
    expect(host.calls.map((call) => call.command)).toEqual(['plugin:mcp-host|read_resource']);
  });

  it('is said again, since it can overtake the call, and ends it after a while even if the host is silent', async () => {
    const host = fakeHost({ call_tool: never, cancel_call: never });
    const controller = new AbortController();
    const call = rejection(createMcpApi(host.invoke).callTool(input, { signal: controller.signal }));
    controller.abort();
    await vi.runAllTimersAsync();
    const error = await call;
    expect(error.code).toBe('mcp.cancelled');
    expect(error.details).toBeUndefined();
    expect(host.calls.filter((one) => one.command.endsWith('cancel_call'))).toHaveLength(3);
  });

  it('does not hide that the call was done', async () => {
    let answer: (value: unknown) => void = () => {};
    const host = fakeHost({
      call_tool: () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
      cancel_call: () => answer({ isError: false }),
    });
    const controller = new AbortController();
    const call = createMcpApi(host.invoke).callTool(input, { signal: controller.signal });
    controller.abort();
    expect(await call).toEqual({ isError: false });
  });

  it('leaves no listener on a signal that lives on', async () => {
    const host = fakeHost({ call_tool: () => ({}) });
    const { signal } = new AbortController();
    const added = vi.spyOn(signal, 'addEventListener');
    const removed = vi.spyOn(signal, 'removeEventListener');
    await createMcpApi(host.invoke).callTool(input, { signal });
    expect(removed.mock.calls.map((call) => call.slice(0, 2))).toEqual(
      added.mock.calls.map((call) => call.slice(0, 2)),
    );
  });
});

describe('progress', () => {
  const input = { serverId: 'a', name: 't' };

  it('reaches the consumer in order and before the result, also when it arrives after it', async () => {
    const host = fakeHost();
    host.handlers.call_tool = (args) => {
      host.emit(args.onProgress, { progress: 1 });
      queueMicrotask(() =>
        queueMicrotask(() => {
          host.emit(args.onProgress, { progress: 2, total: 2 });
          host.end(args.onProgress);
        }),
      );
      return { isError: false };
    };
    const seen: unknown[] = [];
    const onProgress = (progress: unknown) => void seen.push(progress);
    const result = await createMcpApi(host.invoke).callTool(input, { onProgress });
    expect(result).toEqual({ isError: false });
    expect(seen).toEqual([{ progress: 1 }, { progress: 2, total: 2 }]);
  });

  it('of a host that never ends its channel does not hold the result back for long', async () => {
    const host = fakeHost({ call_tool: () => 'done' });
    const call = createMcpApi(host.invoke).callTool(input, { onProgress: () => {} });
    await vi.runAllTimersAsync();
    expect(await call).toBe('done');
  });

  it('that the consumer throws on, now or later, is reported and stops nothing', async () => {
    const reported = vi.spyOn(console, 'error').mockImplementation(() => {});
    const host = fakeHost();
    host.handlers.call_tool = (args) => {
      for (const progress of [1, 2, 3]) host.emit(args.onProgress, { progress });
      host.end(args.onProgress);
      return 'done';
    };
    const seen: number[] = [];
    const onProgress = ({ progress }: { progress: number }): unknown => {
      seen.push(progress);
      if (progress === 1) throw new Error('mine');
      return progress === 2 ? Promise.reject(new Error('later')) : undefined;
    };
    expect(await createMcpApi(host.invoke).callTool(input, { onProgress: onProgress as never })).toBe('done');
    expect(seen).toEqual([1, 2, 3]);
    expect(reported).toHaveBeenCalledTimes(2);
  });

  it('after the call has settled is not delivered', async () => {
    const host = fakeHost();
    let channel: unknown;
    host.handlers.call_tool = (args) => {
      channel = args.onProgress;
      return 'done';
    };
    const onProgress = vi.fn();
    const call = createMcpApi(host.invoke).callTool(input, { onProgress });
    await vi.runAllTimersAsync();
    await call;
    host.emit(channel, { progress: 1 });
    expect(onProgress).not.toHaveBeenCalled();
  });
});

describe('outside of Tauri', () => {
  it('a test can hand its own invoke in, and drive the channels', async () => {
    const seen: unknown[] = [];
    const api = createMcpApi(async (_, args) => {
      (args.onProgress as { onmessage(progress: unknown): void }).onmessage({ progress: 1 });
      return 'done';
    });
    const onProgress = (progress: unknown) => void seen.push(progress);
    expect(await api.callTool({ serverId: 'a', name: 't' }, { onProgress })).toBe('done');
    expect(seen).toEqual([{ progress: 1 }]);
  });
});

describe('a subscription', () => {
  const event = { type: 'serverRemoved', serverId: 'a' };

  it('delivers events until it is ended, which is told to the host once', async () => {
    const host = fakeHost({ unsubscribe_events: () => null });
    let channel: unknown;
    host.handlers.subscribe_events = (args) => {
      channel = args.onEvent;
      return 7;
    };
    const handler = vi.fn();
    const unsubscribe = await createMcpApi(host.invoke).subscribe(handler);
    host.emit(channel, event);
    unsubscribe();
    unsubscribe();
    host.emit(channel, event);
    expect(handler.mock.calls).toEqual([[event]]);
    const ends = host.calls.filter((call) => call.command.endsWith('unsubscribe_events'));
    expect(ends.map((call) => call.args)).toEqual([{ input: { subscription: 7 } }]);
  });

  it('is ended without a word where the host no longer knows it', async () => {
    const host = fakeHost({ subscribe_events: () => 7 });
    const unsubscribe = await createMcpApi(host.invoke).subscribe(() => {});
    expect(unsubscribe()).toBeUndefined();
    await vi.runAllTimersAsync();
  });

  it('survives a handler that throws, and tells its onError', async () => {
    const host = fakeHost();
    let channel: unknown;
    host.handlers.subscribe_events = (args) => {
      channel = args.onEvent;
      return 1;
    };
    const onError = vi.fn(() => {
      throw new Error('worse');
    });
    const reported = vi.spyOn(console, 'error').mockImplementation(() => {});
    let seen = 0;
    const problem = new Error('mine');
    await createMcpApi(host.invoke).subscribe(
      () => {
        if (++seen === 1) throw problem;
      },
      { onError },
    );
    host.emit(channel, event);
    host.emit(channel, event);
    expect(seen).toBe(2);
    expect(onError.mock.calls).toEqual([[problem]]);
    expect(reported).toHaveBeenCalledOnce();
  });

  it('to a resource names it, and fails as the host says', async () => {
    const host = fakeHost({ subscribe_resource: () => 3 });
    const api = createMcpApi(host.invoke);
    await api.subscribeResource({ serverId: 'a', uri: 'demo://x' }, () => {});
    expect(host.calls[0]?.args).toEqual({
      input: { serverId: 'a', uri: 'demo://x' },
      onChange: expect.stringMatching(CHANNEL),
    });
    host.handlers.subscribe_resource = () => {
      throw { code: 'mcp.capability_missing', message: 'no subscriptions', retryable: false };
    };
    const error = await rejection(api.subscribeResource({ serverId: 'a', uri: 'demo://x' }, () => {}));
    expect(error.code).toBe('mcp.capability_missing');
  });

  it('needs a function', async () => {
    const host = fakeHost({ subscribe_events: () => 1 });
    expect((await rejection(createMcpApi(host.invoke).subscribe('x' as never))).code).toBe('mcp.invalid_input');
    expect(host.calls).toEqual([]);
  });
});

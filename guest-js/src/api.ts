// The API over any `invoke`. It adds convenience, never authority: a script could call the same commands without it.

import { Channel } from '@tauri-apps/api/core';
import { API_VERSION, type McpEvent, type McpProgress, type McpResourceChange } from './bindings';
import type { McpCallOptions, McpUnsubscribe, TauriTavernMcpApi } from './contract';
import { invalidInput } from './error';
import { plainJson } from './json';
import { cancellable, type InvokeLike, request } from './request';

/** Marks an API of ours, also across two copies of this module in one page. */
export const BRAND = Symbol.for('tauri-plugin-mcp-host.api');

/** Progress that is still on its way when the result has arrived is waited for this long. */
const LATE_PROGRESS_MS = 250;

/**
 * Makes the API over `invoke` (of `@tauri-apps/api/core`, or a wrapper that hands commands and arguments on unchanged).
 *
 * Methods are bound: `const { callTool } = createMcpApi(invoke)` works.
 */
export function createMcpApi(invoke: InvokeLike): TauriTavernMcpApi {
  const send = <T>(command: string, input?: unknown): Promise<T> =>
    request<T>(invoke, command, input === undefined ? {} : { input });
  const ofServer = async <T>(command: string, serverId: string): Promise<T> =>
    send<T>(command, { serverId: plainJson(serverId, '/serverId') });

  const api: TauriTavernMcpApi = {
    apiVersion: API_VERSION,

    listServers: async () => send('list_servers'),
    getServerStatus: (serverId) => ofServer('get_server_status', serverId),
    connectServer: async (input) => send('connect_server', object(input)),
    disconnectServer: async (serverId) => {
      await ofServer('disconnect_server', serverId);
    },

    listTools: (serverId) => ofServer('list_tools', serverId),
    callTool: async (input, options) => {
      const args = { input: object(input) };
      const progress = progressStream(options);
      try {
        return await cancellable(invoke, 'call_tool', { ...args, onProgress: progress.channel }, options);
      } finally {
        await progress.drained();
      }
    },
    requestApproval: async (input) => send('request_approval', object(input)),

    listResources: (serverId) => ofServer('list_resources', serverId),
    listResourceTemplates: (serverId) => ofServer('list_resource_templates', serverId),
    readResource: async (input, options) => cancellable(invoke, 'read_resource', { input: object(input) }, options),
    subscribeResource: async (input, handler) =>
      subscription<McpResourceChange>(invoke, RESOURCE_STREAM, { input: object(input) }, handler),

    listPrompts: (serverId) => ofServer('list_prompts', serverId),
    getPrompt: async (input, options) => cancellable(invoke, 'get_prompt', { input: object(input) }, options),
    complete: async (input) => send('complete', object(input)),

    subscribe: async (handler, options) => subscription<McpEvent>(invoke, EVENT_STREAM, {}, handler, options?.onError),
    openSettings: async () => {
      await send('open_settings');
    },
  };
  Object.defineProperty(api, BRAND, { value: API_VERSION });
  return Object.freeze(api);
}

/** The input, read once. The host checks its fields; what is no object at all would not even reach it. */
function object(input: unknown): unknown {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw invalidInput('', 'the input must be an object');
  }
  return plainJson(input, '');
}

/** The host sends progress whether or not somebody listens. */
function progressStream(options: McpCallOptions | undefined) {
  const onProgress = options?.onProgress;
  if (onProgress !== undefined && onProgress !== null && typeof onProgress !== 'function') {
    throw invalidInput('/onProgress', '`onProgress` must be a function');
  }
  const stream = openStream<McpProgress>((progress) => {
    if (onProgress) isolated(() => onProgress(progress));
  });
  return {
    channel: stream.channel,
    // Progress and result travel on two roads; the last progress may be the later one.
    drained: async () => {
      if (onProgress) {
        let timer: ReturnType<typeof setTimeout> | undefined;
        const late = new Promise<void>((resolve) => {
          timer = setTimeout(resolve, LATE_PROGRESS_MS);
        });
        await Promise.race([stream.ended, late]);
        clearTimeout(timer);
      }
      stream.close();
    },
  };
}

/** A kind of subscription: how it begins, the name of its channel argument, how it ends. */
type StreamKind = { begin: string; channel: string; end: string };
const EVENT_STREAM: StreamKind = { begin: 'subscribe_events', channel: 'onEvent', end: 'unsubscribe_events' };
const RESOURCE_STREAM: StreamKind = { begin: 'subscribe_resource', channel: 'onChange', end: 'unsubscribe_resource' };

async function subscription<T>(
  invoke: InvokeLike,
  kind: StreamKind,
  args: Record<string, unknown>,
  handler: (message: T) => void,
  onError?: (error: unknown) => void,
): Promise<McpUnsubscribe> {
  if (typeof handler !== 'function') throw invalidInput('/handler', 'the handler must be a function');
  const stream = openStream<T>((message) => isolated(() => handler(message), onError));
  const subscription = await request<number>(invoke, kind.begin, { ...args, [kind.channel]: stream.channel });
  let open = true;
  return () => {
    if (!open) return;
    open = false;
    stream.close();
    // Late, or of a document that is gone: there is nothing left to end.
    request(invoke, kind.end, { input: { subscription } }).catch(() => {});
  };
}

/** A channel from the host that says when the host has let go of it, and that falls silent when closed. */
function openStream<T>(receive: (message: T) => void) {
  let open = true;
  const onmessage = (message: T) => {
    if (open) receive(message);
  };
  const close = () => {
    open = false;
  };
  const { window } = globalThis as { window?: { __TAURI_INTERNALS__?: unknown } };
  if (!window?.__TAURI_INTERNALS__) {
    // Not in Tauri: a test's `invoke` can still call `onmessage`.
    return { channel: { onmessage }, ended: Promise.resolve(), close };
  }
  const channel = new Channel<T>(onmessage);
  const ended = new Promise<void>((resolve) => {
    // Tauri calls this after the last message, when the Rust side is dropped.
    const ending = channel as unknown as { cleanupCallback?: () => void };
    const cleanUp = ending.cleanupCallback;
    if (typeof cleanUp !== 'function') return;
    ending.cleanupCallback = () => {
      cleanUp.call(channel);
      resolve();
    };
  });
  return { channel, ended, close };
}

/** A consumer's callback: what it throws, now or later, must not stop the stream. */
function isolated(callback: () => unknown, onError?: (error: unknown) => void): void {
  const report = (error: unknown) => {
    try {
      if (typeof onError === 'function') onError(error);
      else console.error('A handler of the MCP API failed:', error);
    } catch (second) {
      console.error('The onError of a handler of the MCP API failed:', second);
    }
  };
  try {
    const result = callback();
    if (result instanceof Promise) result.catch(report);
  } catch (error) {
    report(error);
  }
}

// One request to the host: its options checked, its cancellation carried over, whatever it throws made an McpError.

import type { McpRequestOptionsInput } from './bindings';
import type { McpRequestOptions } from './contract';
import { invalidInput, McpError, toMcpError } from './error';

/**
 * How the API reaches the host: `invoke` of `@tauri-apps/api/core`, or anything that takes a command and its arguments
 * and hands them on unchanged.
 */
export type InvokeLike = (command: string, args: Record<string, unknown>) => Promise<unknown>;

/** The plugin's name in command names. */
export const PLUGIN = 'mcp-host';

/** How long a request that was taken back may take to say how it ended, before the API speaks for it. */
const CANCEL_GRACE_MS = 1000;
/** A cancel may overtake the request it is for; it is then said again. */
const CANCEL_AGAIN_MS = [60, 240];
/** `setTimeout` and the host both count in 32 bits. */
const MAX_TIMEOUT_MS = 2_147_483_647;

/** Sends one command. */
export async function request<T>(invoke: InvokeLike, command: string, args: Record<string, unknown> = {}): Promise<T> {
  try {
    return (await invoke(`plugin:${PLUGIN}|${command}`, args)) as T;
  } catch (thrown) {
    throw toMcpError(thrown);
  }
}

/** Sends one command that can be given a time limit and taken back. */
export async function cancellable<T>(
  invoke: InvokeLike,
  command: string,
  args: Record<string, unknown>,
  options: McpRequestOptions | undefined,
): Promise<T> {
  const { signal, timeoutMs } = checked(options);
  const sent: McpRequestOptionsInput = {};
  if (timeoutMs !== undefined) sent.timeoutMs = timeoutMs;
  if (!signal) return request<T>(invoke, command, { ...args, options: sent });

  if (signal.aborted) throw cancelled(command, signal, false);
  const requestId = randomId();
  sent.requestId = requestId;
  const pending = request<T>(invoke, command, { ...args, options: sent });

  const timers: ReturnType<typeof setTimeout>[] = [];
  let onAbort: (() => void) | undefined;
  const abandoned = new Promise<never>((_, reject) => {
    onAbort = () => {
      // A failed cancel changes nothing: the request then ends by itself, or by the grace.
      const cancel = () => void request(invoke, 'cancel_call', { input: { requestId } }).catch(() => {});
      cancel();
      for (const delay of CANCEL_AGAIN_MS) timers.push(setTimeout(cancel, delay));
      timers.push(setTimeout(() => reject(cancelled(command, signal, undefined)), CANCEL_GRACE_MS));
    };
    signal.addEventListener('abort', onAbort, { once: true });
  });

  try {
    // The host's own answer comes first: it knows whether the request had been sent, or had even been answered.
    return await Promise.race([pending, abandoned]);
  } finally {
    timers.forEach(clearTimeout);
    if (onAbort) signal.removeEventListener('abort', onAbort);
    pending.catch(() => {});
  }
}

function checked(options: McpRequestOptions | undefined): McpRequestOptions {
  if (options === undefined || options === null) return {};
  if (typeof options !== 'object') throw invalidInput('', 'the options must be an object');
  const { signal, timeoutMs } = options;
  const result: McpRequestOptions = {};
  if (timeoutMs !== undefined && timeoutMs !== null) {
    if (typeof timeoutMs !== 'number' || !Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > MAX_TIMEOUT_MS) {
      throw invalidInput(
        '/timeoutMs',
        `\`timeoutMs\` must be a whole number of milliseconds from 1 to ${MAX_TIMEOUT_MS}`,
      );
    }
    result.timeoutMs = timeoutMs;
  }
  if (signal !== undefined && signal !== null) {
    if (typeof signal.addEventListener !== 'function' || typeof signal.aborted !== 'boolean') {
      throw invalidInput('/signal', '`signal` must be an AbortSignal');
    }
    result.signal = signal;
  }
  return result;
}

function cancelled(command: string, signal: AbortSignal, sent: boolean | undefined): McpError {
  const what = command.replaceAll('_', ' ');
  const tail = sent === false ? 'it had not been sent' : 'the host did not say whether it had been sent';
  return new McpError(
    {
      code: 'mcp.cancelled',
      message: `${what} was cancelled; ${tail}`,
      retryable: false,
      ...(sent === undefined ? {} : { details: { sent } }),
    },
    { cause: signal.reason },
  );
}

/** 128 random bits in hex. `crypto.randomUUID` is missing where a custom scheme is no secure context. */
function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

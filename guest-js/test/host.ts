// A stand-in for Tauri's side of the IPC: commands are answered by the test, channels deliver as Tauri's do.

import { vi } from 'vitest';

type Handler = (args: Record<string, unknown>) => unknown;

/** One `invoke` and the channels behind it. */
export function fakeHost(handlers: Record<string, Handler> = {}) {
  const callbacks = new Map<number, (message: unknown) => void>();
  let next = 0;
  vi.stubGlobal('window', {
    __TAURI_INTERNALS__: {
      transformCallback: (callback: (message: unknown) => void) => {
        callbacks.set(++next, callback);
        return next;
      },
      unregisterCallback: (id: number) => callbacks.delete(id),
    },
  });
  const calls: { command: string; args: Record<string, unknown> }[] = [];
  const invoke = async (command: string, args: Record<string, unknown>): Promise<unknown> => {
    // What arrives is what JSON carries.
    const carried = JSON.parse(JSON.stringify(args)) as Record<string, unknown>;
    const name = command.replace('plugin:mcp-host|', '');
    calls.push({ command, args: carried });
    const handler = handlers[name];
    if (!handler) throw `Command ${command} not found`;
    return handler(carried);
  };
  const sent = new Map<unknown, number>();
  /** Sends to a channel argument as the Rust side would. */
  const emit = (channel: unknown, message: unknown) => {
    const index = sent.get(channel) ?? 0;
    sent.set(channel, index + 1);
    callbacks.get(Number(String(channel).replace('__CHANNEL__:', '')))?.({ index, message });
  };
  /** The Rust side lets go of the channel. */
  const end = (channel: unknown) => {
    callbacks.get(Number(String(channel).replace('__CHANNEL__:', '')))?.({ index: sent.get(channel) ?? 0, end: true });
  };
  return { invoke, calls, emit, end, handlers };
}

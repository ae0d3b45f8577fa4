// What is committed in dist/ is what a person gets: the init script is run as the webview runs it.

import { readFileSync } from 'node:fs';
import { createContext, runInContext } from 'node:vm';
import { expect, it } from 'vitest';

const script = readFileSync(new URL('../dist/init-iife.js', import.meta.url), 'utf8');

it('the init script mounts the API over the invoke of its window, and leaves no other trace', async () => {
  const calls: unknown[] = [];
  const target = new EventTarget();
  const scope: Record<string, unknown> = {
    location: new URL('tauri://localhost/'),
    document: { readyState: 'loading' },
    addEventListener: target.addEventListener.bind(target),
    console,
    __TAURI_INTERNALS__: {
      invoke: async (command: string, args: unknown) => {
        calls.push([command, JSON.parse(JSON.stringify(args))]);
        return ['answer'];
      },
    },
  };
  scope.window = scope.self = scope.top = scope;
  const before = Object.keys(scope);
  runInContext(script, createContext(scope));
  expect(Object.keys(scope)).toEqual(before);

  scope.__TAURITAVERN__ = { ready: Promise.resolve(), api: {} };
  const host = scope.__TAURITAVERN__ as {
    ready: Promise<unknown>;
    api: { mcpHost: { listTools(id: string): unknown } };
  };
  await host.ready;
  expect(await host.api.mcpHost.listTools('a')).toEqual(['answer']);
  expect(calls).toEqual([['plugin:mcp-host|list_tools', { input: { serverId: 'a' } }]]);
});

it('the init script that the plugin embeds is this one', () => {
  expect(readFileSync(new URL('../../plugin/tauri/src/init-iife.js', import.meta.url), 'utf8')).toBe(script);
});

// The API sends the commands that Rust has, under the argument names that Rust reads.

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { createMcpApi } from '../src/index';
import { fakeHost } from './host';

const bindings = readFileSync(new URL('../src/bindings.ts', import.meta.url), 'utf8');

/** Command → its arguments, as the generated bindings call it. */
const generated = new Map(
  [...bindings.matchAll(/__TAURI_INVOKE<.*>\("plugin:mcp-host\|(\w+)"(?:, \{ (.*?) \})?\)/g)].map((match) => [
    match[1],
    (match[2] ?? '').split(', ').filter(Boolean),
  ]),
);

it('every command is one of the generated bindings, with its arguments and no others', async () => {
  const answer = () => 1;
  const host = fakeHost(Object.fromEntries([...generated.keys()].map((name) => [name, answer])));
  const api = createMcpApi(host.invoke);
  const of = { serverId: 'a' };
  await Promise.all([
    api.listServers(),
    api.getServerStatus('a'),
    api.connectServer(of),
    api.disconnectServer('a'),
    api.listTools('a'),
    api.callTool({ ...of, name: 't' }),
    api.requestApproval({ ...of, name: 't' }),
    api.listResources('a'),
    api.listResourceTemplates('a'),
    api.readResource({ ...of, uri: 'x:y' }),
    api.subscribeResource({ ...of, uri: 'x:y' }, () => {}).then((end) => end()),
    api.listPrompts('a'),
    api.getPrompt({ ...of, name: 'p' }),
    api.complete({ ...of, ref: { type: 'prompt', name: 'p' }, argument: { name: 'x', value: '' } }),
    api.subscribe(() => {}).then((end) => end()),
    api.openSettings(),
  ]);
  for (const { command, args } of host.calls) {
    const wanted = generated.get(command.replace('plugin:mcp-host|', ''));
    expect(wanted, command).toBeDefined();
    // `options` may be left out; everything else is there.
    expect(wanted?.filter((name) => name in args || name !== 'options').sort(), command).toEqual(
      Object.keys(args).sort(),
    );
  }
  const sent = new Set(host.calls.map((call) => call.command.replace('plugin:mcp-host|', '')));
  expect([...generated.keys()].filter((name) => !sent.has(name as string))).toEqual(['get_api_info', 'cancel_call']);
});

// The reference app's page and the example extension, over the real injected script: what an author copies must work.

import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { McpServerStatus } from '../src/bindings';
import { status } from './fixture';
import { finish, type Opened, openExample, shoot, startBrowser } from './window';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

const EVIL = '<img src=x onerror="document.title=\'owned\'">';
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAKklEQVR42u3NMQEAAAgDoGn/zprBOwj0bTIrKioqKioqKioqKioqKvrbA8xqAj8eVZcYAAAAAElFTkSuQmCC';

/** A host with one server that can be connected, and what the page asked of it. */
function host(change: Partial<McpServerStatus> = {}) {
  let server = status({
    id: 'demo',
    displayName: 'Demo server',
    capabilities: { tools: true, resources: true, prompts: true },
    ...change,
  });
  return {
    list_extensions: () => [
      {
        name: 'mcp-example',
        url: 'http://extension.localhost/extension/index.js',
        manifest: { display_name: 'MCP tools', js: 'index.js', css: 'style.css' },
      },
    ],
    list_servers: () => [server],
    get_server_status: () => server,
    subscribe_events: () => 1,
    connect_server: () => {
      server = { ...server, connected: true, state: 'connected' };
      return server;
    },
    list_tools: () => [
      {
        serverId: 'demo',
        name: 'echo',
        title: 'Say it back',
        description: `Says back what it is told. ${EVIL}`,
        inputSchema: {
          type: 'object',
          properties: { message: { type: 'string', description: 'What to say' }, times: { type: 'integer' } },
          required: ['message'],
        },
        permission: 'ask',
        approvalRequired: true,
        definitionChanged: false,
      },
      { serverId: 'demo', name: 'anything', inputSchema: { anyOf: [] }, permission: 'allow', definitionChanged: false },
    ],
    list_resources: () => [{ serverId: 'demo', uri: 'demo://note/1', name: 'Shopping' }],
    read_resource: () => ({
      serverId: 'demo',
      uri: 'demo://note/1',
      contents: [{ uri: 'demo://note/1', text: `Milk ${EVIL}` }],
    }),
    list_prompts: () => [{ serverId: 'demo', name: 'summarise', arguments: [{ name: 'id', required: true }] }],
    get_prompt: () => ({
      serverId: 'demo',
      name: 'summarise',
      messages: [{ role: 'user', content: { type: 'text', text: 'Summarise this' } }],
    }),
    open_settings: () => null,
  };
}

async function connected(answers: Parameters<typeof openExample>[1], options = {}): Promise<Opened> {
  const opened = await openExample(browser, answers, options);
  await opened.page.getByRole('button', { name: 'Connect', exact: true }).click();
  await opened.page.getByText('Connected', { exact: true }).waitFor();
  return opened;
}

it('the page mounts nothing itself: api.mcpHost and api.mcp come from the injected script, before ready', async () => {
  const opened = await openExample(browser, host());
  const mounted = await opened.page.evaluate(() => {
    const { api, abiVersion, invoke } = (
      window as never as { __TAURITAVERN__: { api: Record<string, object>; abiVersion: number; invoke: object } }
    ).__TAURITAVERN__;
    return [api.mcp === api.mcpHost, Object.keys(api.mcpHost ?? {}).length, abiVersion, Object.keys(invoke)];
  });
  expect(mounted).toEqual([true, 17, 1, ['safeInvoke']]);
  await finish(opened);
});

it.each(['light', 'dark'] as const)(
  'a tool is called with what was filled in, and shows progress and a result of every kind (%s)',
  async (colorScheme) => {
    let answer: (value: unknown) => void = () => {};
    const opened = await connected(
      { ...host(), call_tool: () => new Promise((resolve) => (answer = resolve)) },
      { colorScheme },
    );
    const { page } = opened;
    await page.locator('[data-tool=echo] summary').click();
    await page.getByLabel('message *').fill('hello');
    await page.getByLabel('times').fill('12345678901234567890');
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await page.getByText('Waiting for the person’s consent').waitFor();
    await expect.poll(() => opened.called('call_tool').length).toBe(1);
    expect(opened.called('call_tool')[0]).toMatchObject({
      input: { serverId: 'demo', name: 'echo', argumentsJson: '{"message":"hello","times":12345678901234567890}' },
    });
    await opened.emit('call_tool', 'onProgress', { progress: 1, total: 2, message: 'half way' });
    await page.getByText('half way').waitFor();
    await shoot(page, `example-progress-${colorScheme}`);
    answer({
      serverId: 'demo',
      name: 'echo',
      callId: 'c',
      content: [
        { type: 'text', text: `hello ${EVIL}` },
        { type: 'image', mimeType: 'image/png', data: PNG },
        { type: 'image', mimeType: 'image/svg+xml', data: 'PHN2Zy8+' },
        { type: 'audio', mimeType: 'audio/wav', data: 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=' },
        { type: 'resource_link', uri: 'javascript:alert(1)', name: 'a link' },
        { type: 'unknown', originalType: 'hologram', raw: { type: 'hologram' } },
      ],
      structuredContent: { said: 'hello' },
      isError: false,
      durationMs: 12,
      auditSeq: 7,
      auditEventId: 'e',
    });
    await page.getByText('Done · 12 ms · audit record 7').waitFor();
    expect(await page.locator('.mcp-outcome img').count()).toBe(1);
    expect(await page.locator('.mcp-outcome audio').count()).toBe(1);
    expect(await page.locator('.mcp-outcome a').count()).toBe(0);
    await page.getByText('A block of type “hologram”').waitFor();
    expect(await page.title()).toBe('MCP host: reference app');
    await shoot(page, `example-${colorScheme}`);
    await finish(opened);
  },
);

it('a running call is taken back', async () => {
  let refuse: (reason: unknown) => void = () => {};
  const opened = await connected({
    ...host(),
    call_tool: () => new Promise((_, reject) => (refuse = reject)),
    cancel_call: () => {
      refuse({
        code: 'mcp.cancelled',
        message: 'mcp.cancelled: it was cancelled; the server was told',
        retryable: false,
        details: { sent: true },
      });
      return null;
    },
  });
  const { page } = opened;
  await page.locator('[data-tool=anything] summary').click();
  await page.getByLabel('Arguments, as JSON').fill('{"x": 1.50}');
  await page.getByRole('button', { name: 'Call', exact: true }).click();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByText('the server was told').waitFor();
  expect(opened.called('call_tool')[0]).toMatchObject({ input: { argumentsJson: '{"x": 1.50}' } });
  await finish(opened);
});

it('an error says what it means, and its next step opens the settings', async () => {
  const opened = await openExample(browser, {
    ...host({ state: 'needsApproval' }),
    connect_server: () => {
      throw {
        code: 'mcp.server_unapproved',
        message: 'mcp.server_unapproved: server `demo` is new',
        retryable: false,
        serverId: 'demo',
      };
    },
  });
  const { page } = opened;
  await page.getByRole('button', { name: 'Connect', exact: true }).click();
  const alert = page.getByRole('alert');
  await alert.getByText('has not confirmed this server').waitFor();
  await shoot(page, 'example-error');
  await alert.getByRole('button').click();
  await expect.poll(() => opened.called('open_settings').length).toBe(1);
  await finish(opened);
});

it('what a tool’s fields cannot mean is told with its place, and nothing is sent', async () => {
  const opened = await connected({ ...host(), call_tool: () => ({}) });
  const { page } = opened;
  await page.locator('[data-tool=echo] summary').click();
  await page.getByLabel('times').fill('three');
  await page.getByRole('button', { name: 'Call', exact: true }).click();
  await page.getByText('At /arguments/times').waitFor();
  expect(opened.called('call_tool')).toEqual([]);
  await finish(opened);
});

it('resources are read and prompts got; a prompt enters the message box only when the person says so', async () => {
  const opened = await connected(host());
  const { page } = opened;
  await page.getByRole('tab', { name: 'Resources' }).click();
  await page.getByRole('button', { name: 'Read' }).click();
  await page.getByText('Milk <img').waitFor();
  await page.getByRole('tab', { name: 'Prompts' }).click();
  await page.locator('[data-prompt=summarise] summary').click();
  await page.getByLabel('id *').fill('1');
  await page.getByRole('button', { name: 'Get' }).click();
  await page.getByText('Summarise this').waitFor();
  expect(opened.called('get_prompt')[0]).toMatchObject({ input: { arguments: { id: '1' } } });
  expect(await page.getByLabel('Message', { exact: true }).inputValue()).toBe('');
  await page.getByRole('button', { name: 'Put into the message box' }).click();
  expect(await page.getByLabel('Message', { exact: true }).inputValue()).toBe('Summarise this');
  await finish(opened);
});

it('an open tool, what was typed in it and its result outlive a change of the list', async () => {
  const answers = host();
  const opened = await connected(answers);
  const { page } = opened;
  await page.locator('[data-tool=echo] summary').click();
  await page.getByLabel('message *').fill('typed');
  const more = { serverId: 'demo', name: 'more', permission: 'allow', definitionChanged: false };
  const before = answers.list_tools();
  answers.list_tools = () => [...before, more] as never;
  await opened.emit('subscribe_events', 'onEvent', { type: 'toolsChanged', serverId: 'demo' });
  await page.locator('[data-tool=more]').waitFor();
  expect(await page.getByLabel('message *').inputValue()).toBe('typed');
  await finish(opened);
});

it('a page without extensions says so', async () => {
  const opened = await openExample(browser, { ...host(), list_extensions: () => [] });
  await opened.page.getByText('0 extensions').waitFor();
  await finish(opened);
});

// What a person does in the window, and what the host is then asked.

import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { audit, DETAILS, details, OVERVIEW, RULES, SERVERS, status, tool, WAITING } from './fixture';
import { answers, finish, open, shoot, startBrowser } from './window';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

const refused = (code: string, message: string, details?: unknown) => {
  throw { code, message: `${code}: ${message}`, retryable: false, ...(details ? { details } : {}) };
};
/** A promise and the two ways to end it. */
function pending() {
  let resolve: (value: unknown) => void = () => {};
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

describe('servers', () => {
  it('none yet: says what they are for, and the first is added by pasting a snippet', async () => {
    const host = {
      ...answers(),
      admin_get_overview: () => ({ ...OVERVIEW, servers: [], waiting: [] }),
      admin_add_server: () => ['demo'],
    };
    const opened = await open(browser, '', host);
    const { page } = opened;
    await page.getByText('No server yet').waitFor();
    await shoot(page, 'empty');
    await page.getByRole('button', { name: 'Add server' }).click();
    await page.getByLabel('Snippet', { exact: true }).fill('{"mcpServers":{"demo":{"command":"demo-server"}}}');
    await shoot(page, 'add');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByText('Added a server').waitFor();
    expect(opened.called('admin_add_server')).toEqual([
      { input: { snippet: '{"mcpServers":{"demo":{"command":"demo-server"}}}' } },
    ]);
    expect(page.url()).toContain('#/servers/demo');
    await finish(opened);
  });

  it('a snippet that is refused stays where it is, with the place that is wrong; Escape does not lose it either', async () => {
    const host = {
      ...answers(),
      admin_add_server: () =>
        refused('mcp.config_invalid', '`type` must be one of stdio, http, sse', { path: '/mcpServers/x/type' }),
    };
    const opened = await open(browser, '', host);
    const { page } = opened;
    await page.getByRole('button', { name: 'Add server' }).click();
    await page.getByLabel('Snippet', { exact: true }).fill('{"type":"url"}');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    const alert = page.getByRole('alert');
    await alert.waitFor();
    expect(await alert.innerText()).toContain('`type` must be one of stdio, http, sse');
    expect(await alert.innerText()).toContain('/mcpServers/x/type');
    await shoot(page, 'add-refused');
    expect(await page.getByLabel('Snippet', { exact: true }).inputValue()).toBe('{"type":"url"}');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Add server' }).click();
    expect(await page.getByLabel('Snippet', { exact: true }).inputValue()).toBe('{"type":"url"}');
    await finish(opened);
  });

  it('a form makes the same entry as a snippet, argument by argument', async () => {
    const host = { ...answers(), admin_add_server: () => ['files', 'more'] };
    const opened = await open(browser, '', host);
    const { page } = opened;
    await page.getByRole('button', { name: 'Add server' }).click();
    await page.getByRole('tab', { name: 'Form' }).click();
    await page.getByLabel('Name', { exact: true }).fill('My notes');
    await page.getByLabel('Command').fill('npx');
    await page.getByLabel('Arguments').fill('-y\n@scope/server\n/home/ada/My notes');
    await page.getByRole('button', { name: 'Add a variable' }).click();
    await page.getByLabel('Name', { exact: true }).last().fill('TOKEN');
    await page.getByLabel('Value').fill('${env:TOKEN}');
    await shoot(page, 'add-form');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByText('Added 2 servers').waitFor();
    const [call] = opened.called('admin_add_server') as { input: { key: string; snippet: string } }[];
    expect(call?.input.key).toBe('My notes');
    expect(JSON.parse(call?.input.snippet ?? '')).toEqual({
      command: 'npx',
      args: ['-y', '@scope/server', '/home/ada/My notes'],
      env: { TOKEN: '${env:TOKEN}' },
    });
    await finish(opened);
  });

  it('editing keeps what the form does not know, and an entry with comments stays text', async () => {
    const entry = '{\n  "command": "npx",\n  "timeouts": { "callMs": 9 }\n}';
    const host = {
      ...answers(),
      admin_get_server: ({ input }: { input: { serverId: string } }) =>
        details(
          status({ id: input.serverId }),
          input.serverId === 'demo' ? { entry } : { entry: '{ // mine\n "command": "x" }' },
        ),
      admin_edit_server: () => ['demo'],
    };
    let opened = await open(browser, '#/servers/demo', host);
    await opened.page.getByRole('button', { name: 'Edit' }).click();
    await opened.page.getByLabel('Command').fill('bunx');
    await opened.page.getByRole('button', { name: 'Save' }).click();
    await opened.page.getByText('Saved “').waitFor();
    const [call] = opened.called('admin_edit_server') as { input: { entry: string } }[];
    expect(JSON.parse(call?.input.entry ?? '')).toEqual({ command: 'bunx', timeouts: { callMs: 9 } });
    await finish(opened);

    opened = await open(browser, '#/servers/files', host);
    await opened.page.getByRole('button', { name: 'Edit' }).click();
    await opened.page.getByRole('tab', { name: 'Form' }).click();
    await opened.page.getByText('cannot be shown as a form').waitFor();
    expect(await opened.page.getByLabel('Entry in servers.json').inputValue()).toContain('// mine');
    await finish(opened);
  });

  it('an edit that the person does not confirm is saved all the same, and says so', async () => {
    const host = { ...answers(), admin_edit_server: () => refused('mcp.approval_denied', 'the person denied it') };
    const opened = await open(browser, '#/servers/demo', host);
    await opened.page.getByRole('button', { name: 'Edit' }).click();
    await opened.page.getByRole('button', { name: 'Save' }).click();
    await opened.page.getByText('it is not started until you confirm it').waitFor();
    expect(await opened.page.getByRole('dialog').count()).toBe(0);
    await finish(opened);
  });

  it('a removed server is put back by Undo, as it was', async () => {
    const host = { ...answers(), admin_remove_server: () => ['demo'], admin_add_server: () => ['demo'] };
    const opened = await open(browser, '#/servers/demo', host);
    const { page } = opened;
    await page.getByRole('button', { name: 'Remove' }).click();
    await page.getByText('Removed “Demo server”').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await expect
      .poll(() => opened.called('admin_add_server'))
      .toEqual([{ input: { key: 'demo', snippet: DETAILS.demo?.entry } }]);
    await finish(opened);
  });

  it('a confirmation that waits for the person says so after a second, and raises its dialog', async () => {
    const answer = pending();
    const own = { ...WAITING[0], id: 'own', caller: 'settings' };
    const host = {
      ...answers(),
      admin_get_overview: () => ({ ...OVERVIEW, waiting: [...WAITING, own] }),
      admin_confirm_server: () => answer.promise,
      admin_raise_waiting: () => null,
    };
    const opened = await open(browser, '#/servers/calendar', host);
    const { page } = opened;
    await page.getByRole('button', { name: 'Confirm' }).first().click();
    await page.getByText('Waiting for your answer').waitFor();
    await shoot(page, 'confirming');
    await page.getByRole('button', { name: 'Show the dialog' }).click();
    await expect.poll(() => opened.called('admin_raise_waiting')).toEqual([{ input: { id: 'own' } }]);
    answer.reject({
      code: 'mcp.approval_denied',
      message: 'mcp.approval_denied: the person denied it',
      retryable: false,
    });
    await page.getByText('You said no; nothing was changed').waitFor();
    await finish(opened);
  });

  it('a slow connection can be taken back', async () => {
    const host = {
      ...answers(),
      admin_get_overview: () => ({ ...OVERVIEW, servers: [status({ id: 'slow' })] }),
      admin_get_server: () => details(status({ id: 'slow' })),
      admin_connect_server: () => new Promise(() => {}),
      admin_disconnect_server: () => null,
    };
    const opened = await open(browser, '', host);
    await opened.page.getByRole('button', { name: 'Connect' }).click();
    await opened.page.getByRole('button', { name: 'Cancel' }).click();
    await expect.poll(() => opened.called('admin_disconnect_server')).toEqual([{ input: { serverId: 'slow' } }]);
    await finish(opened);
  });

  it('a hint makes the window ask again, and what is shown is what the host then says', async () => {
    let servers = [status({ id: 'demo', displayName: 'Demo' })];
    const host = { ...answers(), admin_get_overview: () => ({ ...OVERVIEW, servers }) };
    const opened = await open(browser, '', host);
    await opened.page.getByText('Not connected').waitFor();
    servers = [
      status({ id: 'demo', displayName: 'Demo', state: 'connected', connected: true, protocolVersion: '2025-11-25' }),
    ];
    await opened.emit('admin_watch', 'onHint', { type: 'server', serverId: 'demo' });
    await opened.page.getByText('2025-11-25').waitFor();
    await finish(opened);
  });

  it('where the host cannot be asked, says so and offers to try again', async () => {
    let broken = true;
    const host = {
      ...answers(),
      admin_get_overview: () => (broken ? refused('mcp.config_invalid', 'the store does not verify') : OVERVIEW),
    };
    const opened = await open(browser, '', host);
    await opened.page.getByText('the store does not verify').waitFor();
    broken = false;
    await opened.page.getByRole('button', { name: 'Try again' }).click();
    await opened.page.getByText('Demo server').waitFor();
    await finish(opened);
  });
});

describe('text of a stranger', () => {
  const EVIL =
    '<img src=x onerror="document.title=\'owned\'"><b>bold</b>{@html x}\u202egnp.exe\u200b\r\nA\u0301\u0301\u0301\u0301\u0301\u0301';
  const LONG = 'x'.repeat(40_000);

  it('is inert, visible and cut in every place where it is shown', async () => {
    const evil = status({
      id: 'evil',
      displayName: EVIL,
      state: 'failed',
      instructions: EVIL,
      serverInfo: { name: EVIL, version: EVIL },
      diagnostics: [EVIL],
      lastError: {
        code: 'mcp.launch_failed',
        message: EVIL,
        retryable: false,
        details: { reason: 'exited', exitCode: 1, stderrTail: [EVIL] },
      },
    });
    const tools = [
      tool({
        name: EVIL,
        title: EVIL,
        description: EVIL + LONG,
        pin: 'changed',
        difference: `+${EVIL}`,
        inputSchema: { description: EVIL },
        diagnostics: [EVIL],
      }),
    ];
    const host = {
      ...answers(),
      admin_get_overview: () => ({
        ...OVERVIEW,
        servers: [evil],
        waiting: [{ ...WAITING[0], heading: EVIL, facts: [`Why: ${EVIL}`], arguments: LONG }],
        problems: [EVIL],
      }),
      admin_get_server: () =>
        details(evil, {
          tools,
          launchDifference: EVIL,
          launch: { ...DETAILS.demo!.launch!, command: EVIL, args: [EVIL, LONG], cautions: [EVIL] },
        }),
      admin_get_server_log: () => [{ time: 'yesterday', stream: 'stderr', text: EVIL }],
      admin_list_rules: () => [
        { ...RULES[0], server: EVIL, tool: EVIL, conditions: [EVIL], dormant: EVIL, madeBy: EVIL },
      ],
      admin_query_audit: () => ({
        rows: audit(2).map((row) => ({
          ...row,
          server: EVIL,
          tool: EVIL,
          rule: EVIL,
          eventType: EVIL,
          payload: { text: EVIL },
        })),
      }),
    };
    for (const hash of [
      '',
      '#/servers/evil',
      '#/servers/evil/tools',
      '#/servers/evil/log',
      '#/approvals',
      '#/rules',
      '#/audit',
      '#/general',
    ]) {
      const opened = await open(browser, hash, host);
      const { page } = opened;
      await page.waitForLoadState('networkidle');
      if (hash.endsWith('tools')) await page.locator('button.name').click();
      if (hash.endsWith('audit')) await page.locator('[role=row]').nth(1).click();
      await page.getByText('<b>bold</b>').first().waitFor();
      expect(await page.locator('main img, main b').count()).toBe(0);
      const text = await page.locator('body').innerText();
      expect(text).toContain('\\u{202e}');
      expect(text).not.toMatch(/[\u202e\u200b]/);
      expect(text.length).toBeLessThan(25_000);
      expect(await page.title()).toBe('MCP servers');
      await shoot(page, `hostile${hash.replaceAll(/[#/]+/g, '-')}`);
      const wide = await page.evaluate(
        () => (document.querySelector('main')?.scrollWidth ?? 0) - (document.querySelector('main')?.clientWidth ?? 0),
      );
      expect(wide, hash).toBeLessThanOrEqual(0);
      await finish(opened);
    }
  });
});

describe('tools', () => {
  it('are reviewed all at once or one by one, and classed; the answer decides what is shown', async () => {
    const host = {
      ...answers(),
      admin_pin_tools: () => [],
      admin_classify_tool: () => refused('mcp.approval_denied', 'no'),
    };
    const opened = await open(browser, '#/servers/demo/tools', host);
    const { page } = opened;
    await page.getByRole('button', { name: 'Review all 4' }).click();
    await expect.poll(() => opened.called('admin_pin_tools')).toEqual([{ input: { serverId: 'demo' } }]);
    await page.getByRole('button', { name: 'write_note' }).click();
    await page.getByRole('button', { name: 'Review…', exact: true }).click();
    await expect
      .poll(() => opened.called('admin_pin_tools').at(-1))
      .toEqual({ input: { serverId: 'demo', tools: ['write_note'] } });
    await page.getByRole('radio', { name: 'It only reads' }).click();
    await page.getByText('You said no').waitFor();
    expect(await page.getByRole('radio', { name: 'It may change things' }).isChecked()).toBe(true);
    await finish(opened);
  });

  it('are tried through the policy, with progress, a result of every kind, and a way to stop', async () => {
    const call = pending();
    const host = { ...answers(), admin_call_tool: () => call.promise, admin_cancel_call: () => null };
    const opened = await open(browser, '#/servers/demo/tools', host);
    const { page } = opened;
    await page.getByRole('button', { name: 'write_note' }).click();
    await page.getByRole('button', { name: 'Try “write_note”' }).click();
    await page.getByLabel('title (required)').fill('Shopping');
    await page.getByLabel('priority').fill('12345678901234567890');
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await expect.poll(() => opened.called('admin_call_tool').length).toBe(1);
    const [sent] = opened.called('admin_call_tool') as {
      input: { argumentsJson: string };
      options: { requestId: string };
    }[];
    expect(sent?.input.argumentsJson).toBe('{"title":"Shopping","text":"","priority":12345678901234567890}');
    await opened.emit('admin_call_tool', 'onProgress', { progress: 1, total: 3, message: 'first of three' });
    await page.getByText('first of three').waitFor();
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await expect
      .poll(() => opened.called('admin_cancel_call'))
      .toEqual([{ input: { requestId: sent?.options.requestId } }]);
    call.resolve({
      serverId: 'demo',
      name: 'write_note',
      callId: 'c1',
      content: [
        { type: 'text', text: 'Saved <b>it</b>' },
        {
          type: 'image',
          mimeType: 'image/png',
          data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
        },
        { type: 'image', mimeType: 'image/svg+xml', data: 'PHN2Zy8+' },
        { type: 'resource_link', uri: 'javascript:alert(1)', name: 'click me' },
        { type: 'resource', resource: { uri: 'demo://x', text: 'embedded' } },
        { type: 'unknown', originalType: 'hologram', raw: { type: 'hologram' } },
      ],
      structuredContent: { ok: true },
      isError: true,
      durationMs: 31,
      auditSeq: 7,
      auditEventId: 'e',
    });
    await page.getByText('the tool reports failure').waitFor();
    expect(await page.getByText('Saved <b>it</b>').count()).toBe(1);
    expect(await page.locator('section img').count()).toBe(1);
    expect(await page.locator('a[href^="javascript"]').count()).toBe(0);
    await page.getByText('A block of type “hologram”').waitFor();
    await shoot(page, 'try');
    await finish(opened);
  });

  it('by the hundred are drawn in steps and found by name', async () => {
    const many = Array.from({ length: 560 }, (_, index) => tool({ name: `tool_${index}` }));
    const host = { ...answers(), admin_get_server: () => details(SERVERS[0]!, { tools: many, tokens: 41_440 }) };
    const opened = await open(browser, '#/servers/demo/tools', host);
    const { page } = opened;
    await page.getByText('tool_99', { exact: true }).waitFor();
    expect(await page.locator('tr.tool').count()).toBe(100);
    await page.getByLabel('Find a tool').fill('tool_559');
    await expect.poll(() => page.locator('tr.tool').count()).toBe(1);
    await finish(opened);
  });
});

describe('approvals and rules', () => {
  it('a waiting request is shown in full; the dialog is raised or the request cancelled, never answered here', async () => {
    const host = { ...answers(), admin_raise_waiting: () => null, admin_cancel_waiting: () => null };
    const opened = await open(browser, '#/approvals', host);
    const { page } = opened;
    const first = page.getByRole('article').first();
    expect(await first.innerText()).toContain('"text": "Milk, bread,\\n\\u{202e}eggs"');
    await first.getByRole('button', { name: 'Show the dialog' }).click();
    await expect.poll(() => opened.called('admin_raise_waiting')).toEqual([{ input: { id: 'q1' } }]);
    await first.getByRole('button', { name: 'Cancel the request' }).click();
    await expect.poll(() => opened.called('admin_cancel_waiting')).toEqual([{ input: { id: 'q1' } }]);
    expect(await page.getByRole('button', { name: /allow/i }).count()).toBe(0);
    await finish(opened);
  });

  it('a rule is revoked at once', async () => {
    let rules = RULES;
    const host = {
      ...answers(),
      admin_list_rules: () => rules,
      admin_revoke_rule: ({ input }: { input: { id: string } }) => {
        rules = rules.filter((rule) => rule.id !== input.id);
        return null;
      },
    };
    const opened = await open(browser, '#/rules', host);
    const { page } = opened;
    await page.getByRole('button', { name: 'Revoke the rule for My notes read_file' }).click();
    await page.getByText('Rule revoked').waitFor();
    expect(opened.called('admin_revoke_rule')).toEqual([{ input: { id: '11b2e0' } }]);
    expect(await page.getByText('read_file').count()).toBe(0);
    await finish(opened);
  });

  it('a new rule says for whom and about what', async () => {
    const host = { ...answers(), admin_add_rule: () => 'id' };
    const opened = await open(browser, '#/rules', host);
    const { page } = opened;
    await page.getByRole('button', { name: 'New rule' }).click();
    await page.getByLabel('Server', { exact: true }).selectOption('files');
    await page.getByLabel('Tool', { exact: true }).fill('read_file');
    await page.getByLabel('Effect').selectOption('allow');
    expect(await page.getByRole('button', { name: 'Make the rule' }).isDisabled()).toBe(true);
    await page.getByLabel('Page scripts').check();
    await shoot(page, 'rule');
    await page.getByRole('button', { name: 'Make the rule' }).click();
    await expect
      .poll(() => opened.called('admin_add_rule'))
      .toEqual([
        {
          input: {
            effect: 'allow',
            target: { type: 'tool', serverId: 'files', tool: 'read_file' },
            callers: ['page'],
            scope: 'always',
          },
        },
      ]);
    await finish(opened);
  });
});

describe('the log', () => {
  it('of 100,000 records has few rows in the document, is read in pages, and moved through by keys', async () => {
    const rows = audit(22_000).slice(0, 100_000);
    const host = {
      ...answers(),
      admin_query_audit: ({ input }: { input: { cursor?: string; limit: number; callId?: string } }) => {
        if (input.callId) return { rows: rows.filter((row) => row.callId === input.callId) };
        const start = Number(input.cursor ?? 0);
        return { rows: rows.slice(start, start + input.limit), nextCursor: String(start + input.limit) };
      },
    };
    const opened = await open(browser, '#/audit', host);
    const { page } = opened;
    const grid = page.getByRole('grid');
    await grid.focus();
    for (let press = 0; press < 40; press++) await page.keyboard.press('PageDown');
    await expect.poll(() => opened.called('admin_query_audit').length).toBeGreaterThan(2);
    expect(await page.getByRole('row').count()).toBeLessThan(60);
    const active = await grid.getAttribute('aria-activedescendant');
    expect(Number(active?.replace('audit-', ''))).toBeGreaterThan(300);
    const row = page.locator(`#${active}`);
    const box = await row.boundingBox();
    const frame = await grid.boundingBox();
    expect(box && frame && box.y >= frame.y && box.y + box.height <= frame.y + frame.height + 1).toBe(true);
    await page.keyboard.press('Enter');
    await page.getByRole('complementary').waitFor();
    await page.keyboard.press('Home');
    expect(await grid.getAttribute('aria-activedescendant')).toBe('audit-0');
    await finish(opened);
  });

  it('is filtered by the host, and one call’s whole story is told in order', async () => {
    const opened = await open(browser, '#/audit');
    const { page } = opened;
    await page.getByLabel('Decision').selectOption('denied');
    await expect.poll(() => opened.called('admin_query_audit').at(-1)).toMatchObject({ input: { decision: 'denied' } });
    await page.getByLabel('Find in the log').fill('no such thing');
    await page.getByText('No record matches').waitFor();
    await page.getByRole('button', { name: 'Clear the filter' }).first().click();
    await page.getByRole('row', { name: 'Call answered' }).first().click();
    const story = page.getByRole('complementary');
    await story.getByText('Call requested').waitFor();
    expect(await story.locator('li .strong').allInnerTexts()).toEqual([
      'Call requested',
      'Question shown',
      'Question answered',
      'Call sent',
      'Call answered',
    ]);
    expect(await story.innerText()).toContain('you answered: allow once');
    await finish(opened);
  });

  it('is verified, and every fault is told with its place', async () => {
    let report: unknown = {
      valid: true,
      keyed: true,
      runs: [{ runId: 'host-1', events: 41, unclean: true, failures: [], warnings: [] }],
    };
    const opened = await open(browser, '#/audit', { ...answers(), admin_verify_audit: () => report });
    const { page } = opened;
    await page.getByRole('button', { name: 'Verify' }).click();
    await page.getByText('The log is intact: 41 records').waitFor();
    report = {
      valid: false,
      keyed: true,
      runs: [
        {
          runId: 'host-1',
          events: 41,
          unclean: false,
          failures: [
            { kind: 'hash_mismatch', line: 12 },
            { kind: 'truncated', line: 0 },
          ],
          warnings: [],
        },
      ],
    };
    await page.getByRole('button', { name: 'Verify' }).click();
    await page.getByText('altered or damaged: 2 faults').waitFor();
    await page.getByText('line 12: the record is not what was written').waitFor();
    await shoot(page, 'verify');
    await finish(opened);
  });
});

describe('the whole', () => {
  it('full access and a pause stay on the screen, and are ended there', async () => {
    const host = {
      ...answers(),
      admin_get_overview: () => ({ ...OVERVIEW, mode: 'danger-full-access', modeBanner: true, paused: true }),
      admin_set_mode: () => null,
      admin_set_paused: () => null,
    };
    const opened = await open(browser, '#/rules', host, { colorScheme: 'dark' });
    const { page } = opened;
    await page.getByText('every tool runs without asking').waitFor();
    await shoot(page, 'banners');
    await page.getByRole('button', { name: 'Ask again' }).click();
    await expect.poll(() => opened.called('admin_set_mode')).toEqual([{ input: { mode: 'prompt' } }]);
    await page.getByRole('button', { name: 'Go on' }).first().click();
    await expect.poll(() => opened.called('admin_set_paused')).toEqual([{ input: { paused: false } }]);
    await finish(opened);
  });

  it('a mode that the person does not confirm is not shown as chosen', async () => {
    const host = { ...answers(), admin_set_mode: () => refused('mcp.approval_denied', 'the person denied it') };
    const opened = await open(browser, '#/general', host);
    const { page } = opened;
    await page.getByRole('radio', { name: 'Full access' }).click();
    await page.getByText('You said no').waitFor();
    expect(await page.getByRole('radio', { name: 'Ask Tools' }).isChecked()).toBe(true);
    expect(opened.called('admin_set_mode')).toEqual([{ input: { mode: 'danger-full-access' } }]);
    await finish(opened);
  });

  it('the language chosen for this window stays', async () => {
    const opened = await open(browser, '#/general');
    const { page } = opened;
    await page.getByLabel('Language of this window').selectOption('zh-CN');
    await page.getByRole('heading', { name: '通用' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: '通用' }).waitFor();
    await finish(opened);
  });

  it('everything is reached by the keyboard alone, and the focus is seen', async () => {
    const opened = await open(browser, '');
    const { page } = opened;
    const focused = () =>
      page.evaluate(() => {
        const element = document.activeElement as HTMLElement;
        const style = getComputedStyle(element);
        const after = getComputedStyle(element, '::after');
        return {
          text: element.textContent?.trim() || element.getAttribute('aria-label') || '',
          seen: style.outlineStyle !== 'none' || after.outlineStyle !== 'none',
        };
      });
    const reached: string[] = [];
    for (let press = 0; press < 14; press++) {
      await page.keyboard.press('Tab');
      const now = await focused();
      expect(now.seen, now.text).toBe(true);
      reached.push(now.text);
    }
    expect(reached).toEqual(
      expect.arrayContaining(['Servers', 'Rules', 'Pause everything', 'Add server…', 'Demo server', 'Disconnect']),
    );
    await page.getByRole('link', { name: 'Demo server' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('tab', { name: 'Overview' }).focus();
    await page.keyboard.press('ArrowRight');
    expect(await page.getByRole('tab', { name: 'Tools' }).getAttribute('aria-selected')).toBe('true');
    await page.getByRole('button', { name: 'list_notes' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('What a call would meet').waitFor();
    await finish(opened);
  });

  it('asks no network for anything, and listens to no Tauri event', async () => {
    const opened = await open(browser, '');
    await opened.page.waitForLoadState('networkidle');
    expect(opened.calls.filter((call) => !call.command.startsWith('admin_'))).toEqual([]);
    await finish(opened);
  });

  it('fits a small window', async () => {
    for (const hash of ['', '#/servers/demo/tools', '#/rules', '#/audit?call=call3', '#/approvals']) {
      const opened = await open(browser, hash, answers(), { viewport: { width: 640, height: 440 } });
      await opened.page.waitForLoadState('networkidle');
      await shoot(opened.page, `small${hash.replaceAll(/[#/?=]+/g, '-')}`);
      const wide = await opened.page.evaluate(
        () => (document.querySelector('main')?.scrollWidth ?? 0) - (document.querySelector('main')?.clientWidth ?? 0),
      );
      expect(wide, hash).toBeLessThanOrEqual(0);
      await finish(opened);
    }
  });
});

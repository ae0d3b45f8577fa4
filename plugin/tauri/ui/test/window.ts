// The built window in headless Chromium, under the policy that the plugin serves it with. Only the IPC is not the real one.

import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';
import type { HostAuditFilter } from '../src/bindings';
import { audit, DETAILS, LOG, NOW, OVERVIEW, RULES } from './fixture';

const DIST = new URL('../dist/', import.meta.url);
const ORIGIN = 'http://mcp-host-settings.localhost';
/** The policy that the plugin serves the window with, from its source. */
const POLICY = /const POLICY: &str = "([^"]*)";/
  .exec(readFileSync(new URL('../../src/settings.rs', import.meta.url), 'utf8'))?.[1]
  ?.replace(/\\\n\s*/g, '');
if (!POLICY?.startsWith("default-src 'none'")) throw new Error('plugin/tauri/src/settings.rs has no POLICY any more');
const PROGRAMS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

export async function startBrowser(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM ?? PROGRAMS.find((path) => existsSync(path));
  if (!executablePath) throw new Error('no Chromium: install the package `chromium`, or set CHROMIUM to its path');
  // As root there is no sandbox to be had.
  return chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] });
}

// biome-ignore lint/suspicious/noExplicitAny: what a command takes and gives is the test's to know.
type Answer = (args: any) => unknown;

/** What the host answers; a test changes what it is about. */
export function answers(): Record<string, Answer> {
  const rows = audit(120);
  return {
    admin_get_environment: () => ({ language: 'en', version: '0.1.0' }),
    admin_watch: () => null,
    admin_get_overview: () => OVERVIEW,
    admin_get_server: ({ input }) => {
      const found = DETAILS[input.serverId];
      if (found) return found;
      throw {
        code: 'mcp.server_not_found',
        message: `mcp.server_not_found: no server is called \`${input.serverId}\``,
        retryable: false,
      };
    },
    admin_get_server_log: () => LOG,
    admin_list_rules: () => RULES,
    admin_query_audit: ({ input }: { input: HostAuditFilter }) => {
      const start = Number(input.cursor ?? 0);
      const limit = input.limit ?? 200;
      const matching = rows.filter(
        (row) =>
          (!input.callId || row.callId === input.callId) &&
          (!input.server || row.server === input.server) &&
          (!input.caller || row.caller === input.caller) &&
          (!input.decision || row.decision === input.decision) &&
          (!input.text || JSON.stringify(row).includes(input.text)),
      );
      const end = start + limit;
      return { rows: matching.slice(start, end), ...(end < matching.length ? { nextCursor: String(end) } : {}) };
    },
  };
}

export type Opened = {
  page: Page;
  /** Every command that was sent, in order. */
  calls: { command: string; args: Record<string, unknown> }[];
  /** Sends to the channel argument `name` of the last call of `command`. */
  emit: (command: string, name: string, message: unknown) => Promise<void>;
  /** Everything that a browser complains about: exceptions, violated policy, console errors. */
  complaints: string[];
  called: (command: string) => Record<string, unknown>[];
};

/** Opens the settings window at `hash`, against a host that answers with `host`. */
export async function open(
  browser: Browser,
  hash = '',
  host: Record<string, Answer> = answers(),
  options: BrowserContextOptions = {},
): Promise<Opened> {
  const opened = await openAt(browser, `${ORIGIN}/${hash}`, { [ORIGIN]: DIST }, POLICY, host, options);
  await opened.page.locator('main h1, main [role=alert]').first().waitFor();
  return opened;
}

/** The reference app's page with the bundled extension, as the app serves them; the injected script is the real one. */
export async function openExample(
  browser: Browser,
  host: Record<string, Answer>,
  options: BrowserContextOptions = {},
): Promise<Opened> {
  const folders = {
    'http://tauri.localhost': new URL('../../../../src-tauri/ui/', import.meta.url),
    'http://extension.localhost': new URL('../../../../examples/', import.meta.url),
  };
  const script = new URL('../../src/init-iife.js', import.meta.url).pathname;
  const opened = await openAt(browser, 'http://tauri.localhost/', folders, undefined, host, options, script);
  await opened.page.locator('html[data-ready]').waitFor();
  return opened;
}

async function openAt(
  browser: Browser,
  address: string,
  folders: Record<string, URL>,
  policy: string | undefined,
  host: Record<string, Answer>,
  options: BrowserContextOptions,
  script?: string,
): Promise<Opened> {
  const context = await browser.newContext({
    viewport: { width: 1080, height: 720 },
    timezoneId: 'Europe/Berlin',
    locale: 'en',
    ...options,
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  await page.route('**/*', async (route) => {
    const { pathname, origin } = new URL(route.request().url());
    const folder = folders[origin];
    const file = folder && new URL(`.${pathname === '/' ? '/index.html' : pathname}`, folder);
    if (!file || !existsSync(file)) {
      complaints.push(`asked for ${route.request().url()}`);
      return route.fulfill({ status: 404 });
    }
    const types: Record<string, string> = { html: 'text/html', js: 'text/javascript', css: 'text/css' };
    await route.fulfill({
      body: readFileSync(file),
      headers: {
        'content-type': `${types[file.pathname.split('.').pop() ?? ''] ?? 'application/octet-stream'}; charset=utf-8`,
        'access-control-allow-origin': '*',
        ...(policy ? { 'content-security-policy': policy } : {}),
      },
    });
  });

  const calls: Opened['calls'] = [];
  await page.exposeFunction('answer', async (command: string, args: Record<string, unknown>) => {
    const name = command.replace('plugin:mcp-host|', '');
    calls.push({ command: name, args });
    try {
      const answer = host[name];
      if (!answer) throw `Command ${command} not found`;
      return { value: await answer(args) };
    } catch (error) {
      return { error };
    }
  });
  await page.clock.setFixedTime(NOW);
  await page.addInitScript(() => {
    const callbacks = new Map<number, (message: unknown) => void>();
    let next = 0;
    const internals = {
      transformCallback: (callback: (message: unknown) => void) => {
        callbacks.set(++next, callback);
        return next;
      },
      unregisterCallback: (id: number) => callbacks.delete(id),
      invoke: async (command: string, args: unknown) => {
        const { answer } = window as unknown as {
          answer: (command: string, args: unknown) => Promise<{ value?: unknown; error?: unknown }>;
        };
        const reply = await answer(command, JSON.parse(JSON.stringify(args ?? {})));
        if ('error' in reply) throw reply.error;
        return reply.value;
      },
    };
    Object.assign(window, {
      callbacks,
      __TAURI_INTERNALS__: internals,
      __TAURI__: { core: { invoke: internals.invoke } },
    });
  });
  if (script) await page.addInitScript({ path: script });
  await page.goto(address);

  const sent = new Map<string, number>();
  return {
    page,
    calls,
    complaints,
    called: (command) => calls.filter((call) => call.command === command).map((call) => call.args),
    emit: async (command, name, message) => {
      const channel = calls.findLast((call) => call.command === command)?.args[name];
      const index = sent.get(String(channel)) ?? 0;
      sent.set(String(channel), index + 1);
      await page.evaluate(
        ([id, wrapped]) => {
          const { callbacks } = window as unknown as { callbacks: Map<number, (message: unknown) => void> };
          callbacks.get(id as number)?.(wrapped);
        },
        [Number(String(channel).replace('__CHANNEL__:', '')), { index, message }] as const,
      );
    },
  };
}

/** Nothing was complained about; closes the window. */
export async function finish(opened: Opened): Promise<void> {
  expect(opened.complaints).toEqual([]);
  await opened.page.context().close();
}

/** Where screenshots go, for a person to look at. */
export async function shoot(page: Page, name: string): Promise<void> {
  const folder = new URL('../../../../target/ui/', import.meta.url).pathname;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: `${folder}${name}.png`, animations: 'disabled' });
}

import { describe, expect, it } from 'vitest';
import type { McpErrorInfo } from '../src/bindings';
import { asReport, ruleWords, since } from '../src/lib/audit';
import { diagnose } from '../src/lib/diagnose';
import { emptyForm, readEntry, writeEntry } from '../src/lib/entry';
import { LANGUAGES, translate } from '../src/lib/i18n.svelte';
import { cut, isPlainAscii, line, segments } from '../src/lib/inert';
import { type Key, messages } from '../src/lib/messages';
import { href, parse } from '../src/lib/route.svelte';
import { argumentsOf, fieldsOf } from '../src/lib/schema';
import { ago, short } from '../src/lib/time';
import { details, status } from './fixture';

const shown = (text: string, lines = false) =>
  segments(text, lines)
    .map((one) => one.text)
    .join('');

describe('text of a stranger', () => {
  it.each([
    ['a\u202eb', 'a\\u{202e}b'],
    ['\u200b\u200d\ufeff\u00ad', '\\u{200b}\\u{200d}\\u{feff}\\u{ad}'],
    ['\u2028\u00a0\u3164\u2800', '\\u{2028}\\u{a0}\\u{3164}\\u{2800}'],
    ['\u{e0041}\ue000\u0007\u001b', '\\u{e0041}\\u{e000}\\u{7}\\u{1b}'],
    ['\ud800', '\\u{d800}'],
    ['a\rb', 'a\\rb'],
    ['笔记　日历 é ✓', '笔记　日历 é ✓'],
    ['e\u0301\u0301\u0301\u0301\u0301', 'e\u0301\u0301\u0301\u0301\\u{301}'],
  ])('%j is shown as %j', (given, expected) => {
    expect(shown(given)).toBe(expected);
  });

  it('stays one line unless lines are wanted', () => {
    expect(shown('a\r\nb\tc')).toBe('a\\r\\nb\\tc');
    expect(shown('a\r\nb\tc', true)).toBe('a\nb\tc');
  });

  it('is cut by characters, and says how many are left out', () => {
    expect(cut('😀😀😀', 2)).toEqual({ kept: '😀😀', leftOut: 1 });
    expect(cut('abc', 3)).toEqual({ kept: 'abc', leftOut: 0 });
    expect(line('x'.repeat(40_000), 5)).toBe('xxxxx…');
  });

  it('is marked where it can pass for something else', () => {
    expect(isPlainAscii('read_file')).toBe(true);
    expect(isPlainAscii('rеad_file')).toBe(false);
  });
});

describe('messages', () => {
  const holes = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1]).sort();

  it('have the same holes in every language', () => {
    for (const [key, entry] of Object.entries(messages)) {
      const forms = LANGUAGES.flatMap((to) => (typeof entry[to] === 'string' ? [entry[to]] : Object.values(entry[to])));
      // A plural form may leave the number out: "a server".
      const named = forms.map((form) =>
        holes(form)
          .filter((hole) => hole !== 'n')
          .join(),
      );
      expect(new Set(named).size, key).toBe(1);
      expect(
        forms.every((form) => form !== ''),
        key,
      ).toBe(true);
    }
  });

  it('choose between one and several, and group digits', () => {
    expect(translate('en', 'tools.count', { n: 1 })).toBe('1 tool');
    expect(translate('en', 'tools.count', { n: 1234 })).toBe('1,234 tools');
    expect(translate('zh-CN', 'tools.count', { n: 2 })).toBe('2 个工具');
  });

  it('put a parameter in once: what it holds is not filled in again', () => {
    expect(translate('en', 'server.gone', { id: '{id}{n}' })).toBe('There is no server “{id}{n}” any more');
  });

  it('of a name that only a newer host knows are the name', () => {
    expect(translate('en', 'caller.moon' as Key)).toBe('moon');
    expect(ruleWords('new-kind:7')).toBe('new-kind (7)');
  });
});

describe('a diagnosis', () => {
  const failed = (code: McpErrorInfo['code'], details?: unknown, message = 'prose') =>
    diagnose(
      status({
        id: 'x',
        state: 'failed',
        lastError: { code, message: `${code}: ${message}`, retryable: false, details },
      }),
    );

  it.each<[McpErrorInfo['code'], unknown, string, string]>([
    ['mcp.launch_failed', { reason: 'not_found', path: 'uvx', lookedIn: ['/bin'] }, 'Command not found: uvx', 'edit'],
    ['mcp.launch_failed', { reason: 'not_executable', path: '/tmp' }, 'Cannot be run as a program: /tmp', 'edit'],
    ['mcp.launch_failed', { reason: 'bad_cwd', path: '/no' }, 'The working folder does not exist: /no', 'edit'],
    [
      'mcp.launch_failed',
      { reason: 'exited', exitCode: 1, stderrTail: ['a', 'API_KEY is required', ''] },
      'Exited with code 1: API_KEY is required',
      'log',
    ],
    ['mcp.launch_failed', { reason: 'exited' }, 'Ended by a signal', 'log'],
    ['mcp.launch_failed', { reason: 'handshake' }, 'Started, but does not speak MCP', 'log'],
    ['mcp.launch_failed', { reason: 'timeout' }, 'Did not answer in time', 'restart'],
    [
      'mcp.launch_failed',
      { reason: 'unresolved_variable', field: '/env/TOKEN' },
      'A value is missing for /env/TOKEN',
      'edit',
    ],
    ['mcp.launch_failed', { reason: 'of a newer host' }, 'prose', 'restart'],
    ['mcp.connect_failed', { reason: 'refused' }, 'Nothing answers at that address', 'restart'],
    [
      'mcp.connect_failed',
      { reason: 'status', attempts: [{ transport: 'http', reason: 'status', status: 404 }] },
      'The address answered with HTTP status 404',
      'edit',
    ],
    ['mcp.config_invalid', { path: '/mcpServers/x' }, 'prose', 'edit'],
    ['mcp.internal', undefined, 'prose', 'restart'],
  ])('of %s %j says what is and the next step', (code, details, what, step) => {
    const found = failed(code, details);
    expect([found.tone, found.line, found.step]).toEqual(['bad', what, step]);
  });

  it('of a connected server says what it offers', () => {
    const one = status({ id: 'x', state: 'connected', connected: true, protocolVersion: '2025-11-25' });
    expect(diagnose(one, details(one)).line).toBe('Connected · 0 tools · 2025-11-25');
  });

  it('of a new and of a changed launch are two things', () => {
    const one = status({ id: 'x', state: 'needsApproval' });
    expect(diagnose(one, details(one)).line).toContain('New');
    expect(diagnose(one, details(one, { launchDifference: '+x' })).line).toContain('changed');
  });
});

describe('an entry', () => {
  it('goes through the form and back without loss', () => {
    for (const entry of [
      { command: 'npx', args: ['-y', '', 'a b'], env: { A: '1' }, cwd: '/x', timeouts: { callMs: 1 } },
      { command: 'x' },
      { url: 'https://example.com/mcp', headers: { Authorization: 'Bearer ${env:T}' } },
      { type: 'sse', url: 'https://example.com/sse', displayName: 'Old', autoConnect: true },
      { type: 'streamable-http', url: 'https://example.com' },
      { command: 'x', args: [] },
    ]) {
      const read = readEntry(JSON.stringify(entry));
      expect(read && JSON.parse(writeEntry(read.form, read.fields))).toEqual(entry);
    }
  });

  it('that a form cannot show without loss stays text', () => {
    for (const text of [
      '{ // mine\n}',
      '[]',
      '{"command":"x","args":["a\\nb"]}',
      '{"command":"x","args":[1]}',
      '{"command":["x"]}',
      '{"command":"x","env":{"A":1}}',
      '{"type":"url"}',
    ]) {
      expect(readEntry(text), text).toBeUndefined();
    }
  });

  it('that changes its transport loses what belonged to the old one', () => {
    const form = { ...emptyForm(), transport: 'http' as const, url: 'https://x' };
    expect(JSON.parse(writeEntry(form, { command: 'npx', args: ['a'], env: {} }))).toEqual({
      type: 'http',
      url: 'https://x',
    });
  });
});

describe('a form from a schema', () => {
  it('has the simple properties as fields, and keeps the digits of numbers', () => {
    const fields = fieldsOf({
      type: 'object',
      properties: {
        a: { type: 'string' },
        n: { type: 'integer' },
        o: { type: 'object' },
        e: { enum: ['x'] },
        none: true,
      },
      required: ['a'],
    });
    expect(fields?.map((field) => field.kind)).toEqual(['text', 'number', 'json', 'choice', 'json']);
    expect(argumentsOf(fields ?? [], { a: '', n: '12345678901234567890', o: '{"k": [1]}' })).toBe(
      '{"a":"","n":12345678901234567890,"o":{"k": [1]}}',
    );
    expect(() => argumentsOf(fields ?? [], { n: '1; drop' })).toThrow(/^n: /);
    expect(() => argumentsOf(fields ?? [], { n: '"1"' })).toThrow(/not a number/);
  });

  it('is not made of what a form would get wrong', () => {
    for (const schema of [undefined, true, { type: 'array' }, { anyOf: [] }, { $ref: '#/$defs/x' }]) {
      expect(fieldsOf(schema)).toBeUndefined();
    }
  });
});

describe('the rest', () => {
  it('addresses name a page and are read back', () => {
    for (const route of [
      { page: 'servers' },
      { page: 'servers', server: 'a b/c', tab: 'tools' },
      { page: 'audit', call: 'x&y' },
      { page: 'general' },
    ] as const) {
      expect(parse(href(route))).toEqual(route);
    }
    expect(parse('#/nonsense/%')).toEqual({ page: 'servers' });
  });

  it('times are local and as short as they can be', () => {
    const now = new Date(2026, 10, 30, 15, 0, 0);
    expect(short(new Date(2026, 10, 30, 9, 5, 7).toISOString(), 'en', now)).toBe('09:05:07');
    expect(short(new Date(2026, 0, 2, 9, 5).toISOString(), 'en', now)).toBe('Jan 2, 09:05');
    expect(short('never', 'en', now)).toBe('never');
    expect(ago(new Date(now.getTime() - 180_000).toISOString(), 'en', now)).toBe('3 minutes ago');
    expect(ago(new Date(now.getTime() - 180_000).toISOString(), 'zh-CN', now)).toBe('3分钟前');
  });

  it('periods begin where a person thinks they do', () => {
    const now = new Date(2026, 10, 30, 15, 0, 0);
    expect(since('today', now)).toBe(new Date(2026, 10, 30).toISOString());
    expect(since('all', now)).toBeUndefined();
  });

  it('a report is only what has runs', () => {
    expect(asReport({ valid: true })).toBeUndefined();
    expect(asReport(null)).toBeUndefined();
    expect(asReport({ valid: true, keyed: true, runs: [] })?.runs).toEqual([]);
  });
});

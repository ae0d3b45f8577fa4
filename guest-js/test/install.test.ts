import { afterEach, describe, expect, it, vi } from 'vitest';
import { installMcpApi, type TauriTavernMcpApi } from '../src/index';

// biome-ignore lint/suspicious/noExplicitAny: the page may make anything of it.
type Page = Window & typeof globalThis & { __TAURITAVERN__?: any };

/** A document as the init script finds it: nothing has run yet. */
function page(change: Record<string, unknown> = {}): Page {
  const target = new EventTarget();
  const scope: Record<string, unknown> = {
    __TAURI_INTERNALS__: {},
    location: new URL('tauri://localhost/index.html'),
    document: { readyState: 'loading' },
    opener: null,
    addEventListener: target.addEventListener.bind(target),
    dispatchEvent: target.dispatchEvent.bind(target),
    ...change,
  };
  scope.self = scope;
  scope.top ??= scope;
  return scope as unknown as Page;
}

function hostWith(api?: object, ready?: unknown) {
  return { abiVersion: 1, ready, invoke: {}, ...(api ? { api } : {}) };
}

const isApi = (value: unknown) => typeof (value as TauriTavernMcpApi)?.callTool === 'function';

afterEach(() => vi.restoreAllMocks());

describe('the API is mounted', () => {
  it('in the order of TauriTavern: host object, then its ready, then its api, then ready resolves', async () => {
    const scope = page();
    const installed = installMcpApi(scope);
    let settle: () => void = () => {};
    scope.__TAURITAVERN__ = hostWith(undefined, null);
    scope.__TAURITAVERN__.ready = new Promise<void>((resolve) => {
      settle = resolve;
    });
    scope.__TAURITAVERN__.api = { agent: {} };
    expect(scope.__TAURITAVERN__.api.mcpHost).toBeUndefined();
    settle();
    await scope.__TAURITAVERN__.ready;
    const { api } = scope.__TAURITAVERN__;
    expect(isApi(api.mcpHost)).toBe(true);
    expect(api.mcp).toBe(api.mcpHost);
    expect(api.agent).toEqual({});
    expect(await installed).toBe(api.mcpHost);
  });

  it('before anybody who awaited ready earlier goes on', async () => {
    const scope = page();
    installMcpApi(scope);
    scope.__TAURITAVERN__ = hostWith({});
    scope.__TAURITAVERN__.ready = Promise.resolve('value');
    const seen = await scope.__TAURITAVERN__.ready.then((value: unknown) => [
      value,
      isApi(scope.__TAURITAVERN__.api.mcpHost),
    ]);
    expect(seen).toEqual(['value', true]);
  });

  it('where the host was there before us', async () => {
    const scope = page();
    scope.__TAURITAVERN__ = hostWith({}, Promise.resolve());
    const installed = await installMcpApi(scope);
    expect(scope.__TAURITAVERN__.api.mcpHost).toBe(installed);
    await scope.__TAURITAVERN__.ready;
  });

  it('and an api that does not exist yet is made', async () => {
    const scope = page();
    scope.__TAURITAVERN__ = hostWith(undefined, Promise.resolve());
    await installMcpApi(scope);
    expect(isApi(scope.__TAURITAVERN__.api.mcpHost)).toBe(true);
  });

  it('although the host failed to get ready, and its failure stays visible', async () => {
    const scope = page();
    installMcpApi(scope);
    scope.__TAURITAVERN__ = hostWith({});
    scope.__TAURITAVERN__.ready = Promise.reject(new Error('bridge'));
    await expect(scope.__TAURITAVERN__.ready).rejects.toThrow('bridge');
    expect(isApi(scope.__TAURITAVERN__.api.mcpHost)).toBe(true);
  });

  it('when the page has loaded, if the host has no ready', async () => {
    const scope = page();
    const installed = installMcpApi(scope);
    scope.__TAURITAVERN__ = { api: {} };
    scope.dispatchEvent(new Event('load'));
    expect(isApi(await installed)).toBe(true);
  });

  it('when the host object or its ready were defined, not assigned', async () => {
    const scope = page();
    const installed = installMcpApi(scope);
    const host = {};
    Object.defineProperty(scope, '__TAURITAVERN__', { value: host });
    scope.dispatchEvent(new Event('DOMContentLoaded'));
    Object.defineProperty(host, 'ready', { value: Promise.resolve() });
    scope.dispatchEvent(new Event('load'));
    expect(isApi(await installed)).toBe(true);
  });

  it('once: a second installation and a second copy find the first', async () => {
    const scope = page();
    scope.__TAURITAVERN__ = hostWith({}, Promise.resolve());
    const first = await installMcpApi(scope);
    expect(await installMcpApi(scope)).toBe(first);
    vi.resetModules();
    const copy = await import('../src/index');
    expect(await copy.installMcpApi(scope)).toBe(first);
    expect(scope.__TAURITAVERN__.api.mcpHost).toBe(first);
  });

  it('and leaves the host object a plain property', async () => {
    const scope = page();
    installMcpApi(scope);
    expect(Object.keys(scope)).not.toContain('__TAURITAVERN__');
    const host = hostWith({}, Promise.resolve());
    scope.__TAURITAVERN__ = host;
    expect(Object.getOwnPropertyDescriptor(scope, '__TAURITAVERN__')).toMatchObject({ value: host, writable: true });
  });
});

describe('an api.mcp that is there', () => {
  it('when ready resolves is left alone, which is said once', async () => {
    const said = vi.spyOn(console, 'info').mockImplementation(() => {});
    const scope = page();
    const installed = installMcpApi(scope);
    scope.__TAURITAVERN__ = hostWith();
    let settle: () => void = () => {};
    scope.__TAURITAVERN__.ready = new Promise<void>((resolve) => {
      settle = resolve;
    });
    const theirs = { servers: {} };
    scope.__TAURITAVERN__.api = { mcp: theirs };
    settle();
    await installed;
    installMcpApi(scope);
    expect(scope.__TAURITAVERN__.api.mcp).toBe(theirs);
    expect(isApi(scope.__TAURITAVERN__.api.mcpHost)).toBe(true);
    expect(said).toHaveBeenCalledOnce();
  });

  it('and throws when looked at is taken', async () => {
    vi.spyOn(console, 'info').mockImplementation(() => {});
    const scope = page();
    const api = {
      get mcp() {
        throw new Error('hands off');
      },
    };
    scope.__TAURITAVERN__ = hostWith(api, Promise.resolve());
    await installMcpApi(scope);
    expect(isApi((api as never as { mcpHost: unknown }).mcpHost)).toBe(true);
    expect(Object.getOwnPropertyDescriptor(api, 'mcp')).toHaveProperty('get');
  });

  it('comes later may replace ours, as on any plain property', async () => {
    const scope = page();
    scope.__TAURITAVERN__ = hostWith({}, Promise.resolve());
    await installMcpApi(scope);
    const theirs = {};
    scope.__TAURITAVERN__.api.mcp = theirs;
    expect(scope.__TAURITAVERN__.api.mcp).toBe(theirs);
  });
});

describe('a hostile or frozen host object', () => {
  it('with a frozen api gets a new api with everything that the old one had', async () => {
    const scope = page();
    const agent = {};
    scope.__TAURITAVERN__ = hostWith(Object.freeze({ agent }), Promise.resolve());
    await installMcpApi(scope);
    expect(isApi(scope.__TAURITAVERN__.api.mcpHost)).toBe(true);
    expect(scope.__TAURITAVERN__.api.agent).toBe(agent);
  });

  it('that is frozen around an open api works', async () => {
    const scope = page();
    installMcpApi(scope);
    scope.__TAURITAVERN__ = Object.freeze(hostWith({}, Promise.resolve()));
    await scope.__TAURITAVERN__.ready;
    expect(isApi(scope.__TAURITAVERN__.api.mcpHost)).toBe(true);
  });

  it('that is frozen altogether is told to the console, and nothing throws', async () => {
    const warned = vi.spyOn(console, 'warn').mockImplementation(() => {});
    const scope = page();
    const installed = installMcpApi(scope);
    scope.__TAURITAVERN__ = Object.freeze(hostWith(Object.freeze({}), Promise.resolve()));
    expect(await installed).toBeUndefined();
    expect(warned).toHaveBeenCalledOnce();
  });

  it('that throws from every trap is told to the console, and nothing throws', async () => {
    const warned = vi.spyOn(console, 'warn').mockImplementation(() => {});
    const scope = page();
    const installed = installMcpApi(scope);
    const no = () => {
      throw new Error('no');
    };
    scope.__TAURITAVERN__ = new Proxy({}, { get: no, set: no, defineProperty: no, has: no });
    scope.dispatchEvent(new Event('load'));
    expect(await installed).toBeUndefined();
    expect(warned).toHaveBeenCalledOnce();
  });

  it('that somebody made unassignable before us does not stop the page', () => {
    const scope = page();
    Object.defineProperty(scope, '__TAURITAVERN__', { value: undefined, writable: false, configurable: false });
    expect(() => installMcpApi(scope)).not.toThrow();
  });
});

describe('nothing is done', () => {
  const elsewhere: [string, Record<string, unknown>][] = [
    ['in a frame', { top: {} }],
    ['in a popup', { opener: {} }],
    ['outside of Tauri', { __TAURI_INTERNALS__: undefined }],
    ['on a remote page', { location: new URL('https://example.com/') }],
    ['on a page that only sounds like ours', { location: new URL('https://tauri.localhost.example.com/') }],
    ['in the settings window', { location: new URL('mcp-host-settings://localhost/') }],
    ['in the settings window on Windows', { location: new URL('http://mcp-host-settings.localhost/') }],
    ['in about:blank', { location: new URL('about:blank') }],
  ];
  it.each(elsewhere)('%s', async (_, change) => {
    const scope = page(change);
    expect(await installMcpApi(scope)).toBeUndefined();
    const host = hostWith({}, Promise.resolve());
    scope.__TAURITAVERN__ = host;
    await host.ready;
    expect(host).toEqual(hostWith({}, host.ready));
    expect('mcpHost' in scope.__TAURITAVERN__.api).toBe(false);
  });

  it.each(['http://tauri.localhost/', 'https://tauri.localhost/', 'http://localhost:1420/', 'http://127.0.0.1:1420/'])(
    'but on the application’s own page at %s it is',
    async (url) => {
      const scope = page({ location: new URL(url) });
      scope.__TAURITAVERN__ = hostWith({}, Promise.resolve());
      expect(isApi(await installMcpApi(scope))).toBe(true);
    },
  );
});

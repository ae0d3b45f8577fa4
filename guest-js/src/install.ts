// Puts the API where extensions look for it. Runs before the page's own scripts (as the plugin's init script), or from
// a host's module. The page may be anything: nothing here throws, and nothing here is a security boundary.

import { invoke } from '@tauri-apps/api/core';
import { BRAND, createMcpApi } from './api';
import type { TauriTavernMcpApi } from './contract';

/** The host object, as far as it concerns us. */
type HostAbi = { ready?: unknown; api?: Record<PropertyKey, unknown> };
type Scope = Window & typeof globalThis & { __TAURITAVERN__?: unknown; __TAURI_INTERNALS__?: unknown };

const HOST = '__TAURITAVERN__';

/** One installation for each window, however often it is asked for. */
const installations = new WeakMap<object, Promise<TauriTavernMcpApi | undefined>>();

/**
 * Waits for `window.__TAURITAVERN__` and its `ready`, then mounts the API: always as `api.mcpHost`, and as `api.mcp` where
 * that is free at that time. An `api.mcp` that is there already is left alone, which the console is told once.
 *
 * The host's `ready` resolves after the mount, so that a script that awaits it finds the API.
 *
 * Resolves to the mounted API; to `undefined` where it has no business: in frames, popups, pages that are not the
 * application's own, outside of Tauri, and where the host object cannot be extended (which the console is told).
 */
export function installMcpApi(scope: Window & typeof globalThis = window): Promise<TauriTavernMcpApi | undefined> {
  let installation = installations.get(scope);
  if (!installation) {
    installation = isOwnPage(scope) ? install(scope) : Promise.resolve(undefined);
    installations.set(scope, installation);
  }
  return installation;
}

function isOwnPage(scope: Scope): boolean {
  try {
    if (!scope.__TAURI_INTERNALS__ || scope.top !== scope.self || scope.opener) return false;
    const { protocol, hostname } = scope.location;
    if (protocol === 'tauri:') return true;
    // `tauri.localhost`: Windows and Android. The loopback hosts: a development server.
    return /^https?:$/.test(protocol) && /^(tauri\.localhost|localhost|127\.0\.0\.1|\[::1\])$/.test(hostname);
  } catch {
    return false;
  }
}

function install(scope: Scope): Promise<TauriTavernMcpApi | undefined> {
  const api = createMcpApi((command, args) => invoke(command, args));
  return new Promise((resolve) => {
    const mounted = (host: HostAbi) => resolve(mount(host, api));
    const present = attempt(() => scope[HOST]);
    if (isObject(present)) {
      afterReady(scope, present as HostAbi, mounted);
    } else {
      onAssigned(scope, (host) => afterReady(scope, host, mounted));
    }
  });
}

/** Calls `then` when somebody makes `window.__TAURITAVERN__` an object, before the assignment returns. */
function onAssigned(scope: Scope, then: (host: HostAbi) => void): void {
  let seen: unknown;
  let done = false;
  const found = (value: unknown) => {
    if (done || !isObject(value)) return;
    done = true;
    then(value as HostAbi);
  };
  attempt(() =>
    Object.defineProperty(scope, HOST, {
      configurable: true,
      enumerable: false,
      get: () => seen,
      set: (value) => {
        seen = value;
        if (isObject(value)) {
          // From here on it is the plain property that the host meant it to be.
          Object.defineProperty(scope, HOST, { configurable: true, enumerable: true, writable: true, value });
          found(value);
        }
      },
    }),
  );
  // A host that *defines* the property takes ours away unheard.
  const look = () => found(attempt(() => scope[HOST]));
  for (const event of ['DOMContentLoaded', 'load']) scope.addEventListener(event, look, { once: true });
}

/** Calls `then` once the host is ready, and before anybody who awaits `host.ready` hears of it. */
function afterReady(scope: Scope, host: HostAbi, then: (host: HostAbi) => void): void {
  let done = false;
  const once = () => {
    if (done) return;
    done = true;
    then(host);
  };
  /** `ready` as others see it: as it was, after our mount. A host that failed to get ready still gets the API. */
  const extended = (ready: unknown) =>
    Promise.resolve(ready).then(
      (value) => {
        once();
        return value;
      },
      (reason: unknown) => {
        once();
        throw reason;
      },
    );

  const ready = attempt(() => host.ready);
  let seen = ready === undefined || ready === null ? ready : extended(ready);
  const hooked = attempt(() =>
    Object.defineProperty(host, 'ready', {
      configurable: true,
      enumerable: true,
      get: () => seen,
      set: (value: unknown) => {
        seen = value === undefined || value === null ? value : extended(value);
      },
    }),
  );
  if (!hooked && isObject(seen)) {
    // Frozen: others await the host's own promise, and we are mounted in its first turn.
    attempt(() => (seen as Promise<unknown>).catch(() => {}));
  }
  // A host without `ready` is as ready as it will be when the page has loaded; one that defined it anew, unheard, is asked.
  const late = () => {
    const now = attempt(() => host.ready);
    if (now === undefined || now === null) once();
    else if (now !== seen) extended(now).catch(() => {});
  };
  if (attempt(() => scope.document.readyState) === 'complete') setTimeout(late, 0);
  else scope.addEventListener('load', () => setTimeout(late, 0), { once: true });
}

function mount(host: HostAbi, api: TauriTavernMcpApi): TauriTavernMcpApi | undefined {
  const present = attempt(() => host.api);
  const existing = isObject(present) ? (present as Record<PropertyKey, unknown>) : undefined;
  // Another copy of this module was here first.
  const ours = attempt(() => existing?.mcpHost);
  if (isObject(ours) && BRAND in (ours as object)) return ours as TauriTavernMcpApi;

  if (existing && put(existing, 'mcpHost', api)) {
    takeFreeName(existing, api);
    return api;
  }
  // No `api` yet, or a frozen one: one that has what the old one had.
  const target: Record<PropertyKey, unknown> =
    (existing &&
      attempt(() => Object.create(Object.getPrototypeOf(existing), Object.getOwnPropertyDescriptors(existing)))) ??
    {};
  if (put(target, 'mcpHost', api) && put(host as Record<PropertyKey, unknown>, 'api', target)) {
    takeFreeName(target, api);
    return api;
  }
  console.warn(
    'MCP: window.__TAURITAVERN__ cannot be extended, so api.mcpHost is missing. The host can mount it itself: ' +
      "import { createMcpApi } from 'tauri-plugin-mcp-host-api'.",
  );
  return undefined;
}

function takeFreeName(target: Record<PropertyKey, unknown>, api: TauriTavernMcpApi): void {
  const taken = attempt(() => target.mcp !== undefined && target.mcp !== null) ?? true;
  if (!taken && put(target, 'mcp', api)) return;
  console.info('MCP: api.mcp is taken by the host and was left alone; this API is at api.mcpHost.');
}

/** A plain property, as an assignment would make it; false where that cannot be. */
function put(target: Record<PropertyKey, unknown>, key: string, value: unknown): boolean {
  return (
    attempt(() => {
      Object.defineProperty(target, key, { configurable: true, enumerable: true, writable: true, value });
      return target[key] === value;
    }) ?? false
  );
}

function isObject(value: unknown): boolean {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

/** What `action` returns; `undefined` if it throws. */
function attempt<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}

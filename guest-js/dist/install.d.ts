import type { TauriTavernMcpApi } from './contract';
/**
 * Waits for `window.__TAURITAVERN__` and its `ready`, then mounts the API: always as `api.mcpHost`, and as `api.mcp` where
 * that is free at that time. An `api.mcp` that is there already is left alone, which the console is told once.
 *
 * The host's `ready` resolves after the mount, so that a script that awaits it finds the API.
 *
 * Resolves to the mounted API; to `undefined` where it has no business: in frames, popups, pages that are not the
 * application's own, outside of Tauri, and where the host object cannot be extended (which the console is told).
 */
export declare function installMcpApi(scope?: Window & typeof globalThis): Promise<TauriTavernMcpApi | undefined>;

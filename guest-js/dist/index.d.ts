/**
 * The page side of `tauri-plugin-mcp-host`.
 *
 * An extension needs none of this: the plugin injects the API, and
 * `await window.__TAURITAVERN__.ready; const mcp = window.__TAURITAVERN__.api.mcpHost;` is all. Import the package for its
 * types and for {@link McpError}, or to mount the API in a host of your own.
 *
 * @module
 */
export { createMcpApi } from './api';
export type * from './bindings';
export { API_VERSION } from './bindings';
export type { McpCallOptions, McpRequestOptions, McpUnsubscribe, TauriTavernMcpApi } from './contract';
export { McpError } from './error';
export { installMcpApi } from './install';
export type { InvokeLike } from './request';

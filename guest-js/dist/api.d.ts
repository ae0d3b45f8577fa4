import type { TauriTavernMcpApi } from './contract';
import { type InvokeLike } from './request';
/** Marks an API of ours, also across two copies of this module in one page. */
export declare const BRAND: unique symbol;
/**
 * Makes the API over `invoke` (of `@tauri-apps/api/core`, or a wrapper that hands commands and arguments on unchanged).
 *
 * Methods are bound: `const { callTool } = createMcpApi(invoke)` works.
 */
export declare function createMcpApi(invoke: InvokeLike): TauriTavernMcpApi;

import type { McpErrorCode, McpErrorInfo } from './bindings';
/**
 * Every rejection of the API. `code` is stable and made for programs; `message` is prose that starts with `code + ": "`.
 *
 * A tool that ran and reported failure is *not* one of these: it resolves, with `isError: true`.
 *
 * @example
 * ```ts
 * try {
 *   await mcp.callTool({ serverId: 'files', name: 'read_file', arguments: { path: '/notes/today.md' } });
 * } catch (error) {
 *   if (error instanceof McpError && error.code === 'mcp.approval_denied') return; // the person said no
 *   throw error;
 * }
 * ```
 */
export declare class McpError extends Error implements McpErrorInfo {
    readonly name = "McpError";
    /** Which kind of failure. */
    readonly code: McpErrorCode;
    /** Whether the same request may succeed a little later without anybody changing anything. */
    readonly retryable: boolean;
    /** The server it is about, where there is one. */
    readonly serverId?: string;
    /** Facts for programs; their shape depends on {@link code}. */
    readonly details?: unknown;
    constructor(info: McpErrorInfo, options?: {
        cause?: unknown;
    });
    /** The injected API and an imported package are two copies; `instanceof` holds across them. */
    static [Symbol.hasInstance](value: unknown): boolean;
    /** The flat shape in which it travelled; survives `structuredClone`, `postMessage` and JSON, which a class does not. */
    toJSON(): McpErrorInfo;
}
/** An error of our own making: a field of the input is wrong. `path` is its JSON pointer, `''` the whole. */
export declare function invalidInput(path: string, problem: string): McpError;
/**
 * Whatever was thrown, as an {@link McpError}.
 *
 * The host rejects with a flat object. An ACL denial or an unknown command rejects with a plain string, which becomes
 * `mcp.ipc`. Wrappers around `invoke` (TauriTavern's `safeInvoke`) throw an `Error` whose `cause` is what they caught.
 */
export declare function toMcpError(thrown: unknown): McpError;

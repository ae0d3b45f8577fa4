// What every rejection of the API is, and how anything that the IPC may throw becomes one.

import type { McpErrorCode, McpErrorInfo } from './bindings';

/** Marks an error of ours, also across two copies of this module in one page. */
const BRAND = Symbol.for('tauri-plugin-mcp-host.error');

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
export class McpError extends Error implements McpErrorInfo {
  override readonly name = 'McpError';
  /** Which kind of failure. */
  readonly code: McpErrorCode;
  /** Whether the same request may succeed a little later without anybody changing anything. */
  readonly retryable: boolean;
  /** The server it is about, where there is one. */
  readonly serverId?: string;
  /** Facts for programs; their shape depends on {@link code}. */
  readonly details?: unknown;

  constructor(info: McpErrorInfo, options?: { cause?: unknown }) {
    const prefix = `${info.code}: `;
    super(info.message.startsWith(prefix) ? info.message : prefix + info.message);
    this.code = info.code;
    this.retryable = info.retryable;
    if (info.serverId !== undefined) this.serverId = info.serverId;
    if (info.details !== undefined) this.details = info.details;
    Object.defineProperty(this, BRAND, { value: true });
    if (options && 'cause' in options) {
      Object.defineProperty(this, 'cause', { value: options.cause, configurable: true, writable: true });
    }
  }

  /** The injected API and an imported package are two copies; `instanceof` holds across them. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && BRAND in value;
  }

  /** The flat shape in which it travelled; survives `structuredClone`, `postMessage` and JSON, which a class does not. */
  toJSON(): McpErrorInfo {
    const info: McpErrorInfo = { code: this.code, message: this.message, retryable: this.retryable };
    if (this.serverId !== undefined) info.serverId = this.serverId;
    if (this.details !== undefined) info.details = this.details;
    return info;
  }
}

/** An error of our own making: a field of the input is wrong. `path` is its JSON pointer, `''` the whole. */
export function invalidInput(path: string, problem: string): McpError {
  return new McpError({ code: 'mcp.invalid_input', message: problem, retryable: false, details: { path } });
}

/**
 * Whatever was thrown, as an {@link McpError}.
 *
 * The host rejects with a flat object. An ACL denial or an unknown command rejects with a plain string, which becomes
 * `mcp.ipc`. Wrappers around `invoke` (TauriTavern's `safeInvoke`) throw an `Error` whose `cause` is what they caught.
 */
export function toMcpError(thrown: unknown): McpError {
  if (thrown instanceof McpError) return thrown;
  const info = wireInfo(thrown) ?? wireInfo(causeOf(thrown));
  if (info) return new McpError(info, { cause: thrown });
  return new McpError(
    { code: 'mcp.ipc', message: `the host refused the request: ${textOf(thrown)}`, retryable: false },
    { cause: thrown },
  );
}

function causeOf(thrown: unknown): unknown {
  return thrown instanceof Error ? (thrown as { cause?: unknown }).cause : undefined;
}

function wireInfo(value: unknown): McpErrorInfo | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { code, message, retryable, serverId, details } = value as Partial<Record<keyof McpErrorInfo, unknown>>;
  // A code that this version does not know is kept: a newer host may have it.
  if (typeof code !== 'string' || !/^mcp\.[a-z_]+$/.test(code) || typeof message !== 'string') return undefined;
  const info: McpErrorInfo = { code: code as McpErrorCode, message, retryable: retryable === true };
  if (typeof serverId === 'string') info.serverId = serverId;
  if (details !== undefined) info.details = details;
  return info;
}

function textOf(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown;
  if (thrown instanceof Error) return thrown.message;
  try {
    return JSON.stringify(thrown) ?? String(thrown);
  } catch {
    return Object.prototype.toString.call(thrown);
  }
}

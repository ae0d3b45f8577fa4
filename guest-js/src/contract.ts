// The interface itself, and the types of it that never travel. Everything that does comes from Rust, in bindings.ts.

import type {
  McpApproval,
  McpCallToolInput,
  McpCompleteInput,
  McpCompletion,
  McpConnectServerInput,
  McpEvent,
  McpGetPromptInput,
  McpProgress,
  McpPromptContent,
  McpPromptSummary,
  McpReadResourceInput,
  McpRequestApprovalInput,
  McpResourceChange,
  McpResourceContent,
  McpResourceSummary,
  McpResourceTemplateSummary,
  McpServerStatus,
  McpServerSummary,
  McpToolResult,
  McpToolSummary,
} from './bindings';

/** Options of a request that can be given a time limit and taken back. */
export type McpRequestOptions = {
  /** Aborting it tells the host, and the host tells the server; the promise then rejects with `mcp.cancelled`. */
  signal?: AbortSignal;
  /** A total in milliseconds that can only shorten the host's own limits. Waiting for a person does not count. */
  timeoutMs?: number;
};

/** Options of a tool call. */
export type McpCallOptions = McpRequestOptions & {
  /** Called in the server's order, always before the call settles; what it throws is reported and changes nothing. */
  onProgress?: (progress: McpProgress) => void;
};

/** Ends a subscription. Idempotent, never throws, safe to call at any time. */
export type McpUnsubscribe = () => void;

/**
 * MCP servers, tools, resources and prompts, for scripts of the page: at `window.__TAURITAVERN__.api.mcpHost`, and at
 * `api.mcp` where that was free.
 *
 * The page is untrusted: every call is decided by the host's policy, and what needs a person's consent raises a native
 * dialog. Every rejection is an {@link McpError}. All text that came from a server is untrusted; render it as text.
 */
export interface TauriTavernMcpApi {
  /** 1 today; raised only when something changes incompatibly. */
  readonly apiVersion: number;

  /** All configured servers, invalid and disabled ones included. */
  listServers(): Promise<McpServerSummary[]>;
  /** One server's state, and why it is in it. */
  getServerStatus(serverId: string): Promise<McpServerStatus>;
  /** Asks for a confirmed, enabled server to be connected; resolves when it is. A page cannot say what to run. */
  connectServer(input: McpConnectServerInput): Promise<McpServerStatus>;
  /** Releases this page's hold; the server ends when nobody holds it and nothing is in flight. */
  disconnectServer(serverId: string): Promise<void>;

  /** A server's tools. Not connected: the last list of this run, else `mcp.not_connected`. */
  listTools(serverId: string): Promise<McpToolSummary[]>;
  /**
   * Calls a tool. Where consent is needed a native dialog asks, and the promise waits for its answer.
   *
   * Resolves also when the tool reports failure (`isError: true`); rejects when the call did not come about.
   */
  callTool(input: McpCallToolInput, options?: McpCallOptions): Promise<McpToolResult>;
  /** Raises the native dialog now and resolves to a token for exactly this call: single use, five minutes. */
  requestApproval(input: McpRequestApprovalInput): Promise<McpApproval>;

  /** A server's resources. Not connected: the last list of this run, else `mcp.not_connected`. */
  listResources(serverId: string): Promise<McpResourceSummary[]>;
  /** A server's resource templates (RFC 6570). */
  listResourceTemplates(serverId: string): Promise<McpResourceTemplateSummary[]>;
  /** Reads a resource. */
  readResource(input: McpReadResourceInput, options?: McpRequestOptions): Promise<McpResourceContent>;
  /** Hears when a resource changes. The server is told on the first subscribe and the last unsubscribe. */
  subscribeResource(input: McpReadResourceInput, handler: (change: McpResourceChange) => void): Promise<McpUnsubscribe>;

  /** A server's prompts. Not connected: the last list of this run, else `mcp.not_connected`. */
  listPrompts(serverId: string): Promise<McpPromptSummary[]>;
  /** Fills in a prompt; it enters no conversation by itself. */
  getPrompt(input: McpGetPromptInput, options?: McpRequestOptions): Promise<McpPromptContent>;
  /** Completes an argument of a prompt or of a resource template. */
  complete(input: McpCompleteInput): Promise<McpCompletion>;

  /** Live events, no replay. What a handler throws goes to `onError`, or to the console. */
  subscribe(
    handler: (event: McpEvent) => void,
    options?: { onError?: (error: unknown) => void },
  ): Promise<McpUnsubscribe>;
  /** Opens the host's own settings window, the only place where servers and grants are edited. */
  openSettings(): Promise<void>;
}

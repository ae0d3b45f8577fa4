// The page-facing API: always at `window.__TAURITAVERN__.api.mcpHost`, and at `api.mcp` too where that is free
// (decided when the host resolves `ready`; `ready` resolves after our mount; an `api.mcp` that is there is left alone).
// It does nothing in popups and remote pages.
//
// Part 1 is the draft ABI (see draft.d.ts): names and shapes are fixed.
// Part 2 fills in what the draft leaves undefined. Part 3 goes beyond it; everything there is additive.
// The shipped `TauriTavernMcpApi` must stay assignable to this one (a `tsc` test proves it), and every
// wire type comes from Rust through tauri-specta, never from a second hand-written copy.
// All strings that came from a server (names, titles, descriptions, text, instructions) are untrusted.
//
// The CLI and the settings window get the same objects with full messages and details (path, lookedIn, stderrTail, …).
// The page is an untrusted principal. What it gets never contains stderr, command lines, environment, paths, or more
// of a URL than its origin: an error says its code and reason; the lines are in the settings window and the CLI.
// Pending calls, tokens, subscriptions and channels belong to the document that made them: a reload ends them.
// Waiting for a person or a queue does not count against a time limit; `timeoutMs` is a total and can only shorten.

// listTools/listResources/listPrompts of a server that is not connected answer with its last known list of this run, else
// `mcp.not_connected`. Only connectServer connects; a server that crashed while connected is restarted by the next call.
//
// ── 1. The nine methods of the draft ────────────────────────────────────────────────────────────────

export interface TauriTavernMcpApi {
  listServers(): Promise<McpServerSummary[]>;
  connectServer(input: McpConnectServerInput): Promise<McpServerStatus>;
  disconnectServer(serverId: string): Promise<void>;
  listTools(serverId: string): Promise<McpToolSummary[]>;
  callTool(input: McpCallToolInput, options?: McpCallOptions): Promise<McpToolResult>;
  listResources(serverId: string): Promise<McpResourceSummary[]>;
  readResource(input: McpReadResourceInput, options?: McpRequestOptions): Promise<McpResourceContent>;
  listPrompts(serverId: string): Promise<McpPromptSummary[]>;
  getPrompt(input: McpGetPromptInput, options?: McpRequestOptions): Promise<McpPromptContent>;

  // ── 3. Beyond the draft ──
  /** 1 today; raised only when something above changes incompatibly. */
  readonly apiVersion: number;
  getServerStatus(serverId: string): Promise<McpServerStatus>;
  /** Raises the native dialog now and returns a token for exactly this call; see policy.md §5. */
  requestApproval(input: McpRequestApprovalInput): Promise<McpApproval>;
  listResourceTemplates(serverId: string): Promise<McpResourceTemplateSummary[]>;
  /** Resolves to an idempotent unsubscribe; the server is told on first subscribe and last unsubscribe. */
  subscribeResource(input: McpReadResourceInput, handler: (change: McpResourceChange) => void): Promise<McpUnsubscribe>;
  /** Argument completion for a prompt or a resource template. */
  complete(input: McpCompleteInput): Promise<McpCompletion>;
  /** Live events, no replay. The returned unsubscribe is idempotent and safe to call late. */
  subscribe(handler: (event: McpEvent) => void, options?: { onError?: (error: unknown) => void }): Promise<McpUnsubscribe>;
  /** Opens the host's own settings window, the only place where servers and grants are edited. */
  openSettings(): Promise<void>;
}

export type McpServerSummary = {
  id: string;
  displayName: string;
  transport: 'stdio' | 'http' | 'sse';
  enabled: boolean;
  connected: boolean;
  /** What the server declared; all absent before the first connection. `sampling` = whether the host allows it: `false`. */
  capabilities: { tools?: boolean; resources?: boolean; prompts?: boolean; sampling?: boolean };
};

export type McpToolSummary = {
  serverId: string;
  name: string;
  title?: string;
  description?: string;
  inputSchema?: unknown;
  annotations?: unknown;
  /** True when a call from the page made now, with arguments that no conditional rule covers, would raise a dialog. */
  approvalRequired?: boolean;
  // beyond the draft
  outputSchema?: unknown;
  /** For the page. 'disabled' tools (also: the same name twice from one server) are listed, and never callable. */
  permission: 'allow' | 'ask' | 'deny' | 'disabled';
  /** The server changed this tool's definition since the user last approved it. */
  definitionChanged: boolean;
  /** Set when part of the tool was unusable: what was dropped or repaired, in words. */
  diagnostics?: string[];
};

export type McpCallToolInput = {
  serverId: string;
  name: string;
  /** An object; absent or null = {}. Arrays and scalars are `mcp.invalid_input`, not coerced. */
  arguments?: unknown;
  /** The same as JSON text, for numbers that JavaScript would round. Exactly one of the two. */
  argumentsJson?: string;
  approvalToken?: string;
};

export type McpResourceSummary = {
  serverId: string; uri: string; name?: string; description?: string; mimeType?: string;
  title?: string; size?: number;
};
export type McpReadResourceInput = { serverId: string; uri: string };

export type McpPromptSummary = {
  serverId: string; name: string; title?: string; description?: string;
  /** McpPromptArgument[] */
  arguments?: unknown;
};
export type McpGetPromptInput = { serverId: string; name: string; arguments?: unknown };

// ── 2. What the draft left undefined ────────────────────────────────────────────────────────────────

/** Unknown keys (`command`, `args`, `env`, `url`, `headers`, …) are an error: a page cannot say what to run. */
export type McpConnectServerInput = { serverId: string };

/** 'needsApproval': new or changed launch, waiting for the person. */
export type McpServerState = 'disabled' | 'needsApproval' | 'disconnected' | 'connecting' | 'connected' | 'needsAuth' | 'failed';

export type McpServerStatus = McpServerSummary & {
  state: McpServerState;
  protocolVersion?: string;
  serverInfo?: { name: string; version: string; title?: string };
  /** Untrusted; never put into a prompt by the host. */
  instructions?: string;
  connectedAt?: string; // RFC 3339
  lastError?: McpErrorInfo;
  /** What was cut, repaired or quarantined in its lists, in words. */
  diagnostics?: string[];
};

export type McpAnnotations = { audience?: string[]; priority?: number; lastModified?: string };
export type McpContentBlock =
  | { type: 'text'; text: string; annotations?: McpAnnotations }
  | { type: 'image'; data: string; mimeType: string; annotations?: McpAnnotations } // base64
  | { type: 'audio'; data: string; mimeType: string; annotations?: McpAnnotations }
  | { type: 'resource_link'; uri: string; name: string; title?: string; description?: string; mimeType?: string; size?: number }
  | { type: 'resource'; resource: McpResourceItem }
  /** A block of a type this version does not know; kept, never dropped and never fatal. */
  | { type: 'unknown'; originalType: string; raw: unknown };

export type McpToolResult = {
  serverId: string;
  name: string;
  callId: string;
  content: McpContentBlock[];
  structuredContent?: unknown;
  /** The same as JSON text, present where JavaScript would round a number in it. */
  structuredContentJson?: string;
  /** The tool ran and reported failure. It is a value, not a rejection. */
  isError: boolean;
  durationMs: number;
  /** The call's record in the audit log: line in its run's log, and the event's id. */
  auditSeq: number;
  auditEventId: string;
  /** Present when the host cut the result; nothing is cut silently. */
  truncated?: { originalBytes: number; keptBytes: number };
  meta?: unknown;
};

export type McpResourceItem =
  | { uri: string; mimeType?: string; text: string }
  | { uri: string; mimeType?: string; blob: string }; // base64

export type McpResourceContent = { serverId: string; uri: string; contents: McpResourceItem[] };

export type McpPromptArgument = { name: string; title?: string; description?: string; required: boolean };
export type McpPromptMessage = { role: 'user' | 'assistant'; content: McpContentBlock };
export type McpPromptContent = { serverId: string; name: string; description?: string; messages: McpPromptMessage[] };

export type McpRequestOptions = { signal?: AbortSignal; timeoutMs?: number };
export type McpCallOptions = McpRequestOptions & { onProgress?: (progress: McpProgress) => void };
export type McpProgress = { progress: number; total?: number; message?: string };

/** Every rejection is one of these: `class McpError extends Error`. `message` starts with `code + ": "`. */
export type McpErrorInfo = {
  code: McpErrorCode;
  message: string;
  retryable: boolean;
  serverId?: string;
  details?: unknown;
};

export type McpErrorCode =
  | 'mcp.invalid_input'          // details.path: JSON pointer of the field
  | 'mcp.server_not_found' | 'mcp.server_disabled' | 'mcp.server_unapproved' | 'mcp.not_connected'
  | 'mcp.launch_failed'          // details.reason: 'not_found' | 'not_executable' | 'bad_cwd' | 'exited' | 'handshake' | 'timeout' | 'unresolved_variable'; exitCode?
  | 'mcp.connect_failed'         // http/sse: details.reason ('refused' | 'status' | 'redirect' | 'handshake' | 'timeout' | 'tls' | 'dns'), details.attempts: {transport, status?, reason}[]
  | 'mcp.auth_required' | 'mcp.transport_unsupported'
  | 'mcp.tool_not_found' | 'mcp.tool_disabled' | 'mcp.capability_missing' | 'mcp.resource_not_found' | 'mcp.prompt_not_found'
  | 'mcp.tool_error'             // only as an agent ToolResult's errorCode: the tool reported isError
  | 'mcp.policy_denied'          // details.rule names the rule that decided
  | 'mcp.approval_denied' | 'mcp.approval_dismissed' | 'mcp.approval_timeout' | 'mcp.approval_busy'
  | 'mcp.approval_token_invalid' | 'mcp.approval_unavailable'
  | 'mcp.rate_limited' | 'mcp.timeout' | 'mcp.cancelled'
  | 'mcp.call_outcome_unknown'   // it was sent, and the connection died before the answer: it may have happened
  | 'mcp.server_error'           // a JSON-RPC error from the server: details.jsonrpcCode
  | 'mcp.protocol_error' | 'mcp.result_too_large' | 'mcp.config_invalid' | 'mcp.audit_unavailable'
  | 'mcp.internal' | 'mcp.ipc';  // 'mcp.ipc': the host's IPC itself refused (ACL, unknown command); bad arguments are 'mcp.invalid_input'

// ── 3. Beyond the draft ─────────────────────────────────────────────────────────────────────────────

export type McpRequestApprovalInput = Omit<McpCallToolInput, 'approvalToken'>;
export type McpApproval = { approvalToken: string; expiresAt: string };

export type McpResourceTemplateSummary = {
  serverId: string; uriTemplate: string; name: string; title?: string; description?: string; mimeType?: string;
};
export type McpResourceChange = { serverId: string; uri: string };

export type McpCompleteInput = {
  serverId: string;
  ref: { type: 'prompt'; name: string } | { type: 'resourceTemplate'; uriTemplate: string };
  argument: { name: string; value: string };
  context?: Record<string, string>;
};
export type McpCompletion = { values: string[]; total?: number; hasMore: boolean };

export type McpEvent =
  | { type: 'serverStatusChanged'; status: McpServerStatus }
  | { type: 'serverRemoved'; serverId: string }
  | { type: 'toolsChanged' | 'resourcesChanged' | 'promptsChanged'; serverId: string }
  /** Only for calls that this document made. */
  | { type: 'approvalRequested' | 'approvalResolved'; callId: string; serverId: string; name: string; outcome?: 'allowed' | 'denied' | 'dismissed' | 'timeout' };

export type McpUnsubscribe = () => void;

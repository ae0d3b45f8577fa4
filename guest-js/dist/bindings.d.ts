import { Channel } from "@tauri-apps/api/core";
/** Commands */
export declare const commands: {
    /**  Which API this is, and which document asks. */
    getApiInfo: () => Promise<McpApiInfo>;
    /**  All configured servers. */
    listServers: () => Promise<McpServerSummary[]>;
    /**  One server's state, and why it is not connected. */
    getServerStatus: (input: McpServerInput) => Promise<McpServerStatus>;
    /**  Connects a configured server and holds it for this document. */
    connectServer: (input: McpConnectServerInput) => Promise<McpServerStatus>;
    /**  Releases this document's hold. */
    disconnectServer: (input: McpServerInput) => Promise<null>;
    /**  A server's tools, with what a call would meet. */
    listTools: (input: McpServerInput) => Promise<McpToolSummary[]>;
    /**  Calls a tool. Where the policy says so the person is asked in a native dialog first. */
    callTool: (input: McpCallToolInput, options: McpRequestOptionsInput | null, onProgress: Channel<McpProgress>) => Promise<McpToolResult>;
    /**  Asks the person now, and returns a token for exactly this call. */
    requestApproval: (input: McpRequestApprovalInput, options: McpRequestOptionsInput | null) => Promise<McpApproval>;
    /**  What a server lists as resources. */
    listResources: (input: McpServerInput) => Promise<McpResourceSummary[]>;
    /**  What a server lists as resource templates. */
    listResourceTemplates: (input: McpServerInput) => Promise<McpResourceTemplateSummary[]>;
    /**  Reads a resource. */
    readResource: (input: McpReadResourceInput, options: McpRequestOptionsInput | null) => Promise<McpResourceContent>;
    /**  Watches a resource; returns the subscription, for `unsubscribe_resource`. */
    subscribeResource: (input: McpReadResourceInput, onChange: Channel<McpResourceChange>) => Promise<number>;
    /**  Ends the watching of a resource. A second time it does nothing. */
    unsubscribeResource: (input: McpSubscriptionInput) => Promise<null>;
    /**  What a server lists as prompts. */
    listPrompts: (input: McpServerInput) => Promise<McpPromptSummary[]>;
    /**  A prompt's messages, as data. */
    getPrompt: (input: McpGetPromptInput, options: McpRequestOptionsInput | null) => Promise<McpPromptContent>;
    /**  Completes an argument of a prompt or a resource template. */
    complete: (input: McpCompleteInput, options: McpRequestOptionsInput | null) => Promise<McpCompletion>;
    /**  Live events, without replay; returns the subscription, for `unsubscribe_events`. */
    subscribeEvents: (onEvent: Channel<McpEvent>) => Promise<number>;
    /**  Ends a subscription to events. A second time it does nothing. */
    unsubscribeEvents: (input: McpSubscriptionInput) => Promise<null>;
    /**  Takes back a pending request of this document. What is not pending is ignored. */
    cancelCall: (input: McpCancelCallInput) => Promise<null>;
    /**  Opens the host's own settings window. */
    openSettings: () => Promise<null>;
};
export declare const API_VERSION: 1;
/**  One request of a caller, from `requested` to its outcome: 128 random bits in hex. */
export type CallId = string;
/**  What a completion completes. */
export type CompletionTarget = 
/**  An argument of a prompt. */
{
    type: "prompt";
    /**  The prompt's name. */
    name: string;
} | 
/**  A variable of a resource template. */
{
    type: "resourceTemplate";
    /**  The template, as the server lists it. */
    uriTemplate: string;
};
/**  `McpAnnotations` of the contract. */
export type McpAnnotations = {
    audience?: string[];
    priority?: number;
    lastModified?: string;
};
/**  Which API this is, and which document asks. */
export type McpApiInfo = {
    /**  The version of the contract. */
    apiVersion: number;
    /**  This load of this page. What belongs to it ends with it. */
    documentId: string;
};
/**  A token for exactly one call. */
export type McpApproval = {
    /**  128 random bits; single use. */
    approvalToken: string;
    /**  RFC 3339. */
    expiresAt: string;
};
/**  How a question ended. */
export type McpApprovalOutcome = "allowed" | "denied" | "dismissed" | "timeout";
/**  `McpCallToolInput` of the contract. */
export type McpCallToolInput = {
    serverId: string;
    name: string;
    /**  An object; absent or null = `{}`. */
    arguments?: unknown;
    /**  The same as JSON text, for numbers that JavaScript would round. At most one of the two. */
    argumentsJson?: string;
    /**  From `request_approval`. */
    approvalToken?: string;
};
/**  A pending request of this document. */
export type McpCancelCallInput = {
    requestId: string;
};
/**  The argument that is being completed. */
export type McpCompleteArgument = {
    name: string;
    value: string;
};
/**  `McpCompleteInput` of the contract. */
export type McpCompleteInput = {
    serverId: string;
    ref: CompletionTarget;
    argument: McpCompleteArgument;
    /**  Arguments that are known already. */
    context?: {
        [key in string]: string;
    };
};
/**  `McpCompletion` of the contract. */
export type McpCompletion = {
    values: string[];
    total?: number;
    hasMore: boolean;
};
/**  `McpConnectServerInput`: nothing but the id; a page cannot say what to run. */
export type McpConnectServerInput = {
    serverId: string;
};
/**  `McpContentBlock` of the contract. A block is never dropped: what does not decode is [`ContentBlock::Unknown`]. */
export type McpContentBlock = {
    type: "text";
    text: string;
    annotations?: McpAnnotations;
} | {
    type: "image";
    /**  Base64. */
    data: string;
    mimeType: string;
    annotations?: McpAnnotations;
} | {
    type: "audio";
    /**  Base64. */
    data: string;
    mimeType: string;
    annotations?: McpAnnotations;
} | {
    type: "resource_link";
    uri: string;
    name: string;
    title?: string;
    description?: string;
    mimeType?: string;
    size?: number;
} | {
    type: "resource";
    resource: McpResourceItem;
} | 
/**  A block of a type this version does not know, or that does not decode. */
{
    type: "unknown";
    /**  Its `type`, or `""`. */
    originalType: string;
    /**  The block as the server wrote it. */
    raw: unknown;
};
/**  The closed list of codes of the page contract (`McpErrorCode`). */
export type McpErrorCode = "mcp.invalid_input" | "mcp.server_not_found" | "mcp.server_disabled" | "mcp.server_unapproved" | "mcp.not_connected" | "mcp.launch_failed" | "mcp.connect_failed" | "mcp.auth_required" | "mcp.transport_unsupported" | "mcp.tool_not_found" | "mcp.tool_disabled" | "mcp.capability_missing" | "mcp.resource_not_found" | "mcp.prompt_not_found" | "mcp.tool_error" | "mcp.policy_denied" | "mcp.approval_denied" | "mcp.approval_dismissed" | "mcp.approval_timeout" | "mcp.approval_busy" | "mcp.approval_token_invalid" | "mcp.approval_unavailable" | "mcp.rate_limited" | "mcp.timeout" | "mcp.cancelled" | "mcp.call_outcome_unknown" | "mcp.server_error" | "mcp.protocol_error" | "mcp.result_too_large" | "mcp.config_invalid" | "mcp.audit_unavailable" | "mcp.internal" | "mcp.ipc";
/**  An error as it travels (`McpErrorInfo` of the contract). */
export type McpErrorInfo = {
    /**  Which kind; stable. */
    code: McpErrorCode;
    /**  Prose, starting with `code + ": "`. */
    message: string;
    /**  The same request may succeed later without a change. */
    retryable: boolean;
    /**  The server it is about. */
    serverId?: string;
    /**  Facts for programs; the shape depends on the code. */
    details?: unknown;
};
/**  `McpEvent` of the contract. */
export type McpEvent = 
/**  A server's state or status is another. */
{
    type: "serverStatusChanged";
    status: McpServerStatus;
} | 
/**  A server left the configuration. */
{
    type: "serverRemoved";
    serverId: ServerId;
} | 
/**  Its tools are others. */
{
    type: "toolsChanged";
    serverId: ServerId;
} | 
/**  Its resources are others. */
{
    type: "resourcesChanged";
    serverId: ServerId;
} | 
/**  Its prompts are others. */
{
    type: "promptsChanged";
    serverId: ServerId;
} | 
/**  The person is being asked about a call of this document. */
{
    type: "approvalRequested";
    callId: CallId;
    serverId: ServerId;
    name: string;
} | 
/**  That question has ended. */
{
    type: "approvalResolved";
    callId: CallId;
    serverId: ServerId;
    name: string;
    outcome?: McpApprovalOutcome;
};
/**  `McpGetPromptInput` of the contract. */
export type McpGetPromptInput = {
    serverId: string;
    name: string;
    /**  An object of strings, or absent. */
    arguments?: unknown;
};
/**  What a server says it is; untrusted. */
export type McpImplementation = {
    /**  Its name for itself. */
    name: string;
    /**  Its version. */
    version: string;
    /**  Its title for people. */
    title?: string;
};
/**  `McpProgress` of the contract. */
export type McpProgress = {
    /**  How far; finite. */
    progress: number;
    /**  Of how much; finite. */
    total?: number;
    /**  In words; untrusted, at most 4 KiB. */
    message?: string;
};
/**  `McpPromptArgument` of the contract. */
export type McpPromptArgument = {
    name: string;
    title?: string;
    description?: string;
    required: boolean;
};
/**  `McpPromptContent` of the contract. */
export type McpPromptContent = {
    serverId: ServerId;
    name: string;
    description?: string;
    messages: McpPromptMessage[];
};
/**  `McpPromptMessage` of the contract. */
export type McpPromptMessage = {
    role: McpRole;
    content: McpContentBlock;
};
/**  `McpPromptSummary` of the contract. */
export type McpPromptSummary = {
    serverId: ServerId;
    name: string;
    title?: string;
    description?: string;
    arguments?: McpPromptArgument[];
};
/**  `McpReadResourceInput` of the contract. */
export type McpReadResourceInput = {
    serverId: string;
    uri: string;
};
/**  `McpRequestApprovalInput` of the contract. */
export type McpRequestApprovalInput = {
    serverId: string;
    name: string;
    /**  An object; absent or null = `{}`. */
    arguments?: unknown;
    /**  The same as JSON text. At most one of the two. */
    argumentsJson?: string;
};
/**  Absent, `null` or an object of a request's options. */
export type McpRequestOptionsInput = {
    /**  A total in milliseconds that can only shorten; waiting for a person does not count. */
    timeoutMs?: number;
    /**  The document's own name for this request, for `cancel_call`: 1 to 64 letters, digits or `-`, not in use. */
    requestId?: string;
};
/**  `McpResourceChange` of the contract: a subscribed resource changed. */
export type McpResourceChange = {
    serverId: ServerId;
    uri: string;
};
/**  `McpResourceContent` of the contract. */
export type McpResourceContent = {
    serverId: ServerId;
    uri: string;
    contents: McpResourceItem[];
};
/**  `McpResourceItem` of the contract. */
export type McpResourceItem = ({
    uri: string;
    mimeType?: string;
    text: string;
}) & {
    blob?: never;
} | ({
    uri: string;
    mimeType?: string;
    /**  Base64. */
    blob: string;
}) & {
    text?: never;
};
/**  `McpResourceSummary` of the contract. */
export type McpResourceSummary = {
    serverId: ServerId;
    uri: string;
    name?: string;
    description?: string;
    mimeType?: string;
    title?: string;
    size?: number;
};
/**  `McpResourceTemplateSummary` of the contract. */
export type McpResourceTemplateSummary = {
    serverId: ServerId;
    /**  RFC 6570. */
    uriTemplate: string;
    name: string;
    title?: string;
    description?: string;
    mimeType?: string;
};
/**  Who says a prompt's message. */
export type McpRole = "user" | "assistant";
/**  What a server declared; all absent before the first connection. */
export type McpServerCapabilities = {
    /**  It has tools. */
    tools?: boolean;
    /**  It has resources. */
    resources?: boolean;
    /**  It has prompts. */
    prompts?: boolean;
    /**  Whether *the host* allows sampling: always `false` once known. */
    sampling?: boolean;
};
/**  Which server. */
export type McpServerInput = {
    serverId: string;
};
/**  The one state machine of a server. */
export type McpServerState = "disabled" | 
/**  New or changed launch, waiting for the person. */
"needsApproval" | "disconnected" | "connecting" | "connected" | "needsAuth" | "failed";
/**  `McpServerStatus` of the contract. */
export type McpServerStatus = {
    /**  The id. */
    id: ServerId;
    /**  The person's own name for it. */
    displayName: string;
    /**  How it is reached. */
    transport: McpTransport;
    /**  Whether the person has it turned on. */
    enabled: boolean;
    /**  Whether it is connected now. */
    connected: boolean;
    /**  What it declared. */
    capabilities: McpServerCapabilities;
    /**  Where its state machine stands. */
    state: McpServerState;
    /**  The negotiated revision. */
    protocolVersion?: string;
    /**  What it says it is. */
    serverInfo?: McpImplementation;
    /**  Untrusted; never put into a prompt by the host. */
    instructions?: string;
    /**  RFC 3339. */
    connectedAt?: string;
    /**  Why it is not connected. */
    lastError?: McpErrorInfo;
    /**  What was cut, repaired or quarantined in its lists, in words. */
    diagnostics?: string[];
};
/**  `McpServerSummary` of the contract. */
export type McpServerSummary = {
    /**  The id. */
    id: ServerId;
    /**  The person's own name for it. */
    displayName: string;
    /**  How it is reached. */
    transport: McpTransport;
    /**  Whether the person has it turned on. */
    enabled: boolean;
    /**  Whether it is connected now. */
    connected: boolean;
    /**  What it declared. */
    capabilities: McpServerCapabilities;
};
/**  A subscription of this document. */
export type McpSubscriptionInput = {
    subscription: number;
};
/**  What a call by the page would meet. */
export type McpToolPermission = "allow" | "ask" | "deny" | "disabled";
/**  `McpToolResult` of the contract. */
export type McpToolResult = {
    /**  Which server ran it. */
    serverId: ServerId;
    /**  Which tool. */
    name: string;
    /**  This call. */
    callId: CallId;
    /**  The blocks, in order. */
    content: McpContentBlock[];
    /**  The structured result, as the server wrote it. */
    structuredContent?: unknown;
    /**  The same as text, where JavaScript would round a number in it. */
    structuredContentJson?: string;
    /**  The tool ran and reported failure. */
    isError: boolean;
    /**  From sending to the answer. */
    durationMs: number;
    /**  The line of the call's record in its run's log. */
    auditSeq: number;
    /**  That record's id. */
    auditEventId: string;
    /**  Present when the host cut the result. */
    truncated?: McpTruncated;
    /**  `_meta` of the result. */
    meta?: unknown;
};
/**  `McpToolSummary` of the contract. */
export type McpToolSummary = {
    /**  Whose tool. */
    serverId: ServerId;
    /**  Its name. */
    name: string;
    /**  For people. */
    title?: string;
    /**  For models and people. */
    description?: string;
    /**  JSON Schema. */
    inputSchema?: unknown;
    /**  The server's hints; they may only tighten. */
    annotations?: unknown;
    /**  A call made now would raise a dialog. */
    approvalRequired?: boolean;
    /**  JSON Schema. */
    outputSchema?: unknown;
    /**  For the asking kind of caller. */
    permission: McpToolPermission;
    /**  The server changed this definition since it was last approved. */
    definitionChanged: boolean;
    /**  What was left out or repaired. */
    diagnostics?: string[];
};
/**  How a server is reached. */
export type McpTransport = 
/**  A child process. */
"stdio" | 
/**  Streamable HTTP. */
"http" | 
/**  The 2024-11-05 HTTP+SSE transport. */
"sse";
/**  How much of a result the host kept. */
export type McpTruncated = {
    originalBytes: number;
    keptBytes: number;
};
/**  A server's id: `[a-z0-9][a-z0-9_-]{0,31}`, without `__`, so that `mcp.<server>.<tool>` splits at its first two dots. */
export type ServerId = string;

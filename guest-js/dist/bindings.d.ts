export type McpTransport = 'stdio' | 'http' | 'sse';
export type McpServerState = 'disabled' | 'needsApproval' | 'disconnected' | 'connecting' | 'connected' | 'needsAuth' | 'failed';
export type McpServerCapabilities = {
    tools?: boolean;
    resources?: boolean;
    prompts?: boolean;
    sampling?: boolean;
};
export type McpImplementation = {
    name: string;
    version: string;
    title?: string;
};
export type McpServerSummary = {
    id: string;
    displayName: string;
    transport: McpTransport;
    enabled: boolean;
    connected: boolean;
    capabilities: McpServerCapabilities;
};
export type McpServerStatus = McpServerSummary & {
    state: McpServerState;
    protocolVersion?: string;
    serverInfo?: McpImplementation;
    instructions?: string;
    connectedAt?: string;
    lastError?: McpErrorInfo;
    diagnostics?: string[];
};
export type McpToolPermission = 'allow' | 'ask' | 'deny' | 'disabled';
export type McpToolSummary = {
    serverId: string;
    name: string;
    title?: string;
    description?: string;
    inputSchema?: unknown;
    annotations?: unknown;
    approvalRequired?: boolean;
    outputSchema?: unknown;
    permission: McpToolPermission;
    definitionChanged: boolean;
    diagnostics?: string[];
};
export type McpCallToolInput = {
    serverId: string;
    name: string;
    arguments?: unknown;
    argumentsJson?: string;
    approvalToken?: string;
};
export type McpRequestApprovalInput = {
    serverId: string;
    name: string;
    arguments?: unknown;
    argumentsJson?: string;
};
export type McpApproval = {
    approvalToken: string;
    expiresAt: string;
};
export type McpConnectServerInput = {
    serverId: string;
};
export type McpReadResourceInput = {
    serverId: string;
    uri: string;
};
export type McpGetPromptInput = {
    serverId: string;
    name: string;
    arguments?: unknown;
};
export type McpCompletionRef = {
    type: 'prompt';
    name: string;
} | {
    type: 'resourceTemplate';
    uriTemplate: string;
};
export type McpCompleteInput = {
    serverId: string;
    ref: McpCompletionRef;
    argument: {
        name: string;
        value: string;
    };
    context?: {
        [key in string]: string;
    };
};
export type McpCompletion = {
    values: string[];
    total?: number;
    hasMore: boolean;
};
export type McpAnnotations = {
    audience?: string[];
    priority?: number;
    lastModified?: string;
};
export type McpResourceItem = {
    uri: string;
    mimeType?: string;
    text: string;
} | {
    uri: string;
    mimeType?: string;
    blob: string;
};
export type McpContentBlock = {
    type: 'text';
    text: string;
    annotations?: McpAnnotations;
} | {
    type: 'image';
    data: string;
    mimeType: string;
    annotations?: McpAnnotations;
} | {
    type: 'audio';
    data: string;
    mimeType: string;
    annotations?: McpAnnotations;
} | {
    type: 'resource_link';
    uri: string;
    name: string;
    title?: string;
    description?: string;
    mimeType?: string;
    size?: number;
} | {
    type: 'resource';
    resource: McpResourceItem;
} | {
    type: 'unknown';
    originalType: string;
    raw: unknown;
};
export type McpTruncated = {
    originalBytes: number;
    keptBytes: number;
};
export type McpToolResult = {
    serverId: string;
    name: string;
    callId: string;
    content: McpContentBlock[];
    structuredContent?: unknown;
    structuredContentJson?: string;
    isError: boolean;
    durationMs: number;
    auditSeq: number;
    auditEventId: string;
    truncated?: McpTruncated;
    meta?: unknown;
};
export type McpProgress = {
    progress: number;
    total?: number;
    message?: string;
};
export type McpResourceSummary = {
    serverId: string;
    uri: string;
    name?: string;
    description?: string;
    mimeType?: string;
    title?: string;
    size?: number;
};
export type McpResourceTemplateSummary = {
    serverId: string;
    uriTemplate: string;
    name: string;
    title?: string;
    description?: string;
    mimeType?: string;
};
export type McpResourceContent = {
    serverId: string;
    uri: string;
    contents: McpResourceItem[];
};
export type McpResourceChange = {
    serverId: string;
    uri: string;
};
export type McpPromptArgument = {
    name: string;
    title?: string;
    description?: string;
    required: boolean;
};
export type McpPromptSummary = {
    serverId: string;
    name: string;
    title?: string;
    description?: string;
    arguments?: McpPromptArgument[];
};
export type McpRole = 'user' | 'assistant';
export type McpPromptMessage = {
    role: McpRole;
    content: McpContentBlock;
};
export type McpPromptContent = {
    serverId: string;
    name: string;
    description?: string;
    messages: McpPromptMessage[];
};
export type McpRequestOptionsInput = {
    timeoutMs?: number;
    requestId?: string;
};
export type McpApprovalOutcome = 'allowed' | 'denied' | 'dismissed' | 'timeout';
export type McpEvent = {
    type: 'serverStatusChanged';
    status: McpServerStatus;
} | {
    type: 'serverRemoved';
    serverId: string;
} | {
    type: 'toolsChanged' | 'resourcesChanged' | 'promptsChanged';
    serverId: string;
} | {
    type: 'approvalRequested' | 'approvalResolved';
    callId: string;
    serverId: string;
    name: string;
    outcome?: McpApprovalOutcome;
};
export type McpErrorCode = 'mcp.invalid_input' | 'mcp.server_not_found' | 'mcp.server_disabled' | 'mcp.server_unapproved' | 'mcp.not_connected' | 'mcp.launch_failed' | 'mcp.connect_failed' | 'mcp.auth_required' | 'mcp.transport_unsupported' | 'mcp.tool_not_found' | 'mcp.tool_disabled' | 'mcp.capability_missing' | 'mcp.resource_not_found' | 'mcp.prompt_not_found' | 'mcp.tool_error' | 'mcp.policy_denied' | 'mcp.approval_denied' | 'mcp.approval_dismissed' | 'mcp.approval_timeout' | 'mcp.approval_busy' | 'mcp.approval_token_invalid' | 'mcp.approval_unavailable' | 'mcp.rate_limited' | 'mcp.timeout' | 'mcp.cancelled' | 'mcp.call_outcome_unknown' | 'mcp.server_error' | 'mcp.protocol_error' | 'mcp.result_too_large' | 'mcp.config_invalid' | 'mcp.audit_unavailable' | 'mcp.internal' | 'mcp.ipc';
export type McpErrorInfo = {
    code: McpErrorCode;
    message: string;
    retryable: boolean;
    serverId?: string;
    details?: unknown;
};

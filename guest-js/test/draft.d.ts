// The draft ABI's own types, as its authors published them. `export` added; what the draft names and does not define is
// declared as what the shipped API gives.

import type { McpConnectServerInput, McpPromptContent, McpResourceContent, McpServerStatus, McpToolResult } from '../src/index';

export type TauriTavernMcpApi = {
  listServers(): Promise<McpServerSummary[]>;
  connectServer(input: McpConnectServerInput): Promise<McpServerStatus>;
  disconnectServer(serverId: string): Promise<void>;
  listTools(serverId: string): Promise<McpToolSummary[]>;
  callTool(input: McpCallToolInput): Promise<McpToolResult>;
  listResources(serverId: string): Promise<McpResourceSummary[]>;
  readResource(input: McpReadResourceInput): Promise<McpResourceContent>;
  listPrompts(serverId: string): Promise<McpPromptSummary[]>;
  getPrompt(input: McpGetPromptInput): Promise<McpPromptContent>;
};

export type McpServerSummary = {
  id: string;
  displayName: string;
  transport: 'stdio' | 'http' | 'sse';
  enabled: boolean;
  connected: boolean;
  capabilities: {
    tools?: boolean;
    resources?: boolean;
    prompts?: boolean;
    sampling?: boolean;
  };
};

export type McpToolSummary = {
  serverId: string;
  name: string;
  title?: string;
  description?: string;
  inputSchema?: unknown;
  annotations?: unknown;
  approvalRequired?: boolean;
};

export type McpCallToolInput = {
  serverId: string;
  name: string;
  arguments?: unknown;
  approvalToken?: string;
};

export type McpResourceSummary = {
  serverId: string;
  uri: string;
  name?: string;
  description?: string;
  mimeType?: string;
};

export type McpReadResourceInput = {
  serverId: string;
  uri: string;
};

export type McpPromptSummary = {
  serverId: string;
  name: string;
  title?: string;
  description?: string;
  arguments?: unknown;
};

export type McpGetPromptInput = {
  serverId: string;
  name: string;
  arguments?: unknown;
};

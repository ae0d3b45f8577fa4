// Compiled, never run: what is shipped satisfies the contract, and the draft that the contract grew from.

import type * as shipped from '../src/index';
import type * as contract from './contract';
import type * as draft from './draft';

type Assignable<From, To> = [From] extends [To] ? true : { error: 'not assignable'; from: From; to: To };
type Same<A, B> = [A] extends [B]
  ? [B] extends [A]
    ? true
    : { error: 'narrower'; a: A; b: B }
  : { error: 'wider'; a: A; b: B };
function holds<_ extends true>(): void {}

// The whole API, argument and result types of every method included.
holds<Assignable<shipped.TauriTavernMcpApi, contract.TauriTavernMcpApi>>();
holds<Assignable<shipped.TauriTavernMcpApi, draft.TauriTavernMcpApi>>();

// Closed lists are the same lists.
holds<Same<shipped.McpErrorCode, contract.McpErrorCode>>();
holds<Same<shipped.McpServerState, contract.McpServerState>>();
holds<Same<shipped.McpEvent['type'], contract.McpEvent['type']>>();
holds<Same<shipped.McpContentBlock['type'], contract.McpContentBlock['type']>>();

// Results, one by one, so that a difference names its type.
holds<Assignable<shipped.McpServerSummary, contract.McpServerSummary>>();
holds<Assignable<shipped.McpServerStatus, contract.McpServerStatus>>();
holds<Assignable<shipped.McpToolSummary, contract.McpToolSummary>>();
holds<Assignable<shipped.McpToolResult, contract.McpToolResult>>();
holds<Assignable<shipped.McpContentBlock, contract.McpContentBlock>>();
holds<Assignable<shipped.McpResourceSummary, contract.McpResourceSummary>>();
holds<Assignable<shipped.McpResourceTemplateSummary, contract.McpResourceTemplateSummary>>();
holds<Assignable<shipped.McpResourceContent, contract.McpResourceContent>>();
holds<Assignable<shipped.McpPromptSummary, contract.McpPromptSummary>>();
holds<Assignable<shipped.McpPromptContent, contract.McpPromptContent>>();
holds<Assignable<shipped.McpPromptArgument, contract.McpPromptArgument>>();
holds<Assignable<shipped.McpCompletion, contract.McpCompletion>>();
holds<Assignable<shipped.McpApproval, contract.McpApproval>>();
holds<Assignable<shipped.McpEvent, contract.McpEvent>>();
holds<Assignable<shipped.McpProgress, contract.McpProgress>>();
holds<Assignable<shipped.McpErrorInfo, contract.McpErrorInfo>>();
holds<Assignable<shipped.McpError, contract.McpErrorInfo>>();
holds<Assignable<shipped.McpServerSummary, draft.McpServerSummary>>();
holds<Assignable<shipped.McpToolSummary, draft.McpToolSummary>>();
holds<Assignable<shipped.McpResourceSummary, draft.McpResourceSummary>>();
holds<Assignable<shipped.McpPromptSummary, draft.McpPromptSummary>>();

// Inputs the other way round.
holds<Assignable<contract.McpCallToolInput, shipped.McpCallToolInput>>();
holds<Assignable<contract.McpConnectServerInput, shipped.McpConnectServerInput>>();
holds<Assignable<contract.McpReadResourceInput, shipped.McpReadResourceInput>>();
holds<Assignable<contract.McpGetPromptInput, shipped.McpGetPromptInput>>();
holds<Assignable<contract.McpRequestApprovalInput, shipped.McpRequestApprovalInput>>();
holds<Assignable<contract.McpCompleteInput, shipped.McpCompleteInput>>();
holds<Assignable<contract.McpCallOptions, shipped.McpCallOptions>>();
holds<Assignable<draft.McpCallToolInput, shipped.McpCallToolInput>>();
holds<Assignable<draft.McpReadResourceInput, shipped.McpReadResourceInput>>();
holds<Assignable<draft.McpGetPromptInput, shipped.McpGetPromptInput>>();

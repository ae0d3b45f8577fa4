// @ts-check
// What an error means to a person, and the one next step. `error.code` is the contract; the message is prose.

import { element } from './element.js';

/**
 * @typedef {import('tauri-plugin-mcp-host-api').TauriTavernMcpApi} Mcp
 * @typedef {import('tauri-plugin-mcp-host-api').McpErrorCode} Code
 * @typedef {'settings' | 'retry' | 'none'} Step
 */

/** @type {Partial<Record<Code, [string, Step]>>} */
const MEANING = {
  'mcp.approval_denied': ['The person said no.', 'none'],
  'mcp.approval_dismissed': ['The person closed the question.', 'retry'],
  'mcp.approval_timeout': ['Nobody answered the question in time.', 'retry'],
  'mcp.approval_busy': ['Too many questions are waiting for the person.', 'retry'],
  'mcp.policy_denied': ['The person’s rules do not allow this.', 'settings'],
  'mcp.server_unapproved': ['The person has not confirmed this server yet.', 'settings'],
  'mcp.server_disabled': ['The person has turned this server off.', 'settings'],
  'mcp.auth_required': ['The person has to sign in.', 'settings'],
  'mcp.launch_failed': ['The server did not start; the settings say why.', 'settings'],
  'mcp.connect_failed': ['The server could not be reached; the settings say why.', 'settings'],
  'mcp.config_invalid': ['Its entry cannot be used; the settings say why.', 'settings'],
  'mcp.not_connected': ['It is not connected.', 'retry'],
  'mcp.rate_limited': ['Too often; a little later it will do.', 'retry'],
  'mcp.timeout': ['It took too long.', 'retry'],
  'mcp.cancelled': ['Cancelled.', 'none'],
  'mcp.call_outcome_unknown': ['The connection broke: it may have happened. Look before you repeat it.', 'none'],
  'mcp.invalid_input': ['An argument is not right.', 'none'],
  'mcp.server_error': ['The server refused the request.', 'none'],
  'mcp.tool_disabled': ['This tool is disabled.', 'settings'],
  'mcp.result_too_large': ['The answer is too large; ask for less.', 'none'],
};

/**
 * An error as nodes, with a button for the next step.
 *
 * @param {unknown} thrown
 * @param {Mcp} mcp
 * @param {() => unknown} retry
 * @param {string} [about]
 */
export function explain(thrown, mcp, retry, about) {
  const error = /** @type {Partial<import('tauri-plugin-mcp-host-api').McpErrorInfo>} */ (thrown ?? {});
  const code = error.code ?? 'mcp.internal';
  const [meaning, step] = MEANING[code] ?? ['That did not work.', error.retryable ? 'retry' : 'none'];
  const path = /** @type {{ path?: string } | undefined} */ (error.details)?.path;
  const node = element(
    'div',
    { class: 'mcp-error', role: 'alert', 'data-code': code },
    element('p', { class: 'mcp-strong' }, about ? `${about}: ${meaning}` : meaning),
    element('p', { class: 'mcp-hint' }, error.message ?? String(thrown)),
  );
  if (path) node.append(element('p', { class: 'mcp-hint' }, `At ${path}`));
  if (step !== 'none') {
    const button = element(
      'button',
      { type: 'button' },
      step === 'settings' ? 'Servers and permissions…' : 'Try again',
    );
    button.addEventListener('click', () => (step === 'settings' ? mcp.openSettings().catch(() => {}) : retry()));
    node.append(button);
  }
  return node;
}

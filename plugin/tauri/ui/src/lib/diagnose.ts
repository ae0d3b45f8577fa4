// A server's state in words: what is, why, and the one next step.

import type { HostServer, McpErrorInfo, McpServerStatus } from '../bindings';
import { t } from './i18n.svelte';
import { line } from './inert';
import type { Key } from './messages';

export type Tone = 'ok' | 'busy' | 'warn' | 'bad' | 'off';
/** What the person can do about it here. */
export type Step = 'confirm' | 'enable' | 'connect' | 'restart' | 'edit' | 'log';

export type Diagnosis = {
  tone: Tone;
  /** One line, for the list: what is, and why. */
  line: string;
  /** What to do, in words. */
  advice?: string;
  /** Places looked at, last lines: what the advice rests on. */
  evidence?: string[];
  step?: Step;
};

export function diagnose(status: McpServerStatus, details?: HostServer): Diagnosis {
  switch (status.state) {
    case 'connected': {
      const parts = [t('state.connected')];
      if (details) parts.push(t('tools.count', { n: details.tools.length }));
      if (status.protocolVersion) parts.push(line(status.protocolVersion, 24));
      return { tone: 'ok', line: parts.join(' · ') };
    }
    case 'connecting':
      return { tone: 'busy', line: details?.downloading ? t('state.downloading') : t('state.connecting') };
    case 'disconnected':
      return { tone: 'off', line: t('state.disconnected'), step: 'connect' };
    case 'disabled':
      return { tone: 'off', line: t('state.disabled'), step: 'enable' };
    case 'needsApproval':
      return details?.launchDifference
        ? { tone: 'warn', line: t('state.changed'), advice: t('advice.changed'), step: 'confirm' }
        : { tone: 'warn', line: t('state.new'), advice: t('advice.new'), step: 'confirm' };
    case 'needsAuth':
      return { tone: 'warn', line: t('state.needsAuth'), advice: t('advice.needsAuth', { id: status.id }) };
    case 'failed':
      return { tone: 'bad', ...failure(status.lastError) };
  }
}

type Details = {
  reason?: string;
  exitCode?: number;
  path?: string;
  field?: string;
  lookedIn?: string[];
  stderrTail?: string[];
  attempts?: { transport: string; status?: number; reason: string; message?: string }[];
};

function failure(error: McpErrorInfo | undefined): Omit<Diagnosis, 'tone'> {
  if (!error) return { line: t('state.failed'), step: 'restart' };
  const details = (error.details ?? {}) as Details;
  const path = line(details.path ?? '', 200);
  const tail = (details.stderrTail ?? []).filter((one) => one.trim() !== '');
  const last = tail.at(-1);
  const because = last ? t('fail.because', { text: line(last, 160) }) : '';
  const withTail = tail.length > 0 ? { evidence: tail.slice(-6) } : {};

  switch (error.code) {
    case 'mcp.launch_failed':
      switch (details.reason) {
        case 'not_found':
          return {
            line: t('fail.notFound', { path }),
            advice: t('advice.notFound'),
            step: 'edit',
            ...(details.lookedIn ? { evidence: details.lookedIn } : {}),
          };
        case 'not_executable':
          return { line: t('fail.notExecutable', { path }), advice: t('advice.notExecutable'), step: 'edit' };
        case 'bad_cwd':
          return { line: t('fail.badCwd', { path }), advice: t('advice.badCwd'), step: 'edit' };
        case 'exited':
          return {
            line:
              (details.exitCode === undefined
                ? t('fail.killed')
                : t('fail.exited', { code: String(details.exitCode) })) + because,
            advice: t('advice.exited'),
            step: 'log',
            ...withTail,
          };
        case 'handshake':
          return { line: t('fail.handshake') + because, advice: t('advice.handshake'), step: 'log', ...withTail };
        case 'timeout':
          return { line: t('fail.timeout') + because, advice: t('advice.timeout'), step: 'restart', ...withTail };
        case 'unresolved_variable':
          return {
            line: t('fail.unresolved', { field: line(details.field ?? '', 80) }),
            advice: t('advice.unresolved'),
            step: 'edit',
          };
      }
      break;
    case 'mcp.connect_failed': {
      const known = CONNECT[details.reason ?? ''];
      const status = details.attempts?.find((attempt) => attempt.status !== undefined)?.status;
      const evidence = (details.attempts ?? []).map((one) => `${one.transport}: ${one.message ?? one.reason}`);
      if (known) {
        return {
          line: t(known.line, { status: status === undefined ? '?' : String(status) }),
          advice: t(known.advice),
          step: known.step,
          ...(evidence.length > 0 ? { evidence } : {}),
        };
      }
      break;
    }
    case 'mcp.config_invalid':
      return { line: line(bare(error), 300), advice: t('advice.config'), step: 'edit' };
    case 'mcp.auth_required':
      return { line: t('state.needsAuth'), advice: t('advice.needsAuth', { id: error.serverId ?? '' }) };
    case 'mcp.transport_unsupported':
      return { line: line(bare(error), 300), step: 'edit' };
  }
  return { line: line(bare(error), 300), step: 'restart', ...withTail };
}

const CONNECT: Record<string, { line: Key; advice: Key; step: Step }> = {
  refused: { line: 'fail.refused', advice: 'advice.refused', step: 'restart' },
  status: { line: 'fail.status', advice: 'advice.status', step: 'edit' },
  redirect: { line: 'fail.redirect', advice: 'advice.redirect', step: 'edit' },
  handshake: { line: 'fail.noMcp', advice: 'advice.noMcp', step: 'edit' },
  timeout: { line: 'fail.timeout', advice: 'advice.refused', step: 'restart' },
  tls: { line: 'fail.tls', advice: 'advice.tls', step: 'edit' },
  dns: { line: 'fail.dns', advice: 'advice.dns', step: 'edit' },
};

/** The message without its code. */
export function bare(error: McpErrorInfo): string {
  const prefix = `${error.code}: `;
  return error.message.startsWith(prefix) ? error.message.slice(prefix.length) : error.message;
}

/** Whether the person did not say yes, in one way or another. */
export function isUnconfirmed(thrown: unknown): boolean {
  return /^mcp\.approval_(denied|dismissed|timeout)$/.test(asError(thrown).code);
}

/** Whatever a command was rejected with. */
export function asError(thrown: unknown): McpErrorInfo {
  if (typeof thrown === 'object' && thrown !== null && 'code' in thrown && 'message' in thrown) {
    return thrown as McpErrorInfo;
  }
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  return { code: 'mcp.ipc', message: text, retryable: false };
}

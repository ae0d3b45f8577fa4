// The log's words: events, decisions and rules as a person reads them. What is not known is shown as it is recorded.

import type { HostAuditRow } from '../bindings';
import { t } from './i18n.svelte';
import { line } from './inert';
import { type Key, messages } from './messages';

export const DECISIONS = ['allowed', 'denied', 'failed', 'cancelled'] as const;

function word(prefix: string, name: string | undefined): string {
  if (!name) return '';
  const key = `${prefix}.${name}`;
  return key in messages ? t(key as Key) : line(name.replaceAll('_', ' '), 80);
}

export function eventWords(type: string): string {
  return word('event', type);
}

export function decisionWord(decision: string | undefined): string {
  return word('decision', decision);
}

export function decisionTone(decision: string | undefined): 'ok' | 'bad' | 'warn' | 'plain' {
  if (decision === 'allowed') return 'ok';
  if (decision === 'denied') return 'bad';
  return decision === 'failed' ? 'warn' : 'plain';
}

/** `allow-rule:7f3a` → the rule's kind in words, and its id. */
export function ruleWords(rule: string | undefined): string {
  if (!rule) return '';
  const at = rule.indexOf(':');
  const name = at < 0 ? rule : rule.slice(0, at);
  const rest = at < 0 ? '' : rule.slice(at + 1);
  if (name === 'answer') return t('rule.answer', { answer: word('answer', rest) });
  const words = word('rule', name);
  return rest ? `${words} (${line(rest, 40)})` : words;
}

/** By which of the person's hands something was done. */
export function maker(by: string): string {
  return word('made', by);
}

/** The record that says how a call was decided. */
export function isDecision(row: HostAuditRow): boolean {
  return row.decision !== undefined && /_(started|blocked|denied|read|failed|completed)$/.test(row.eventType);
}

export type Finding = { kind: string; line: number };
export type Report = {
  valid: boolean;
  keyed: boolean;
  runs: { runId: string; events: number; unclean: boolean; failures: Finding[]; warnings: Finding[] }[];
};

/** The report of a verification; `undefined` where it is none. */
export function asReport(value: unknown): Report | undefined {
  const report = value as Partial<Report> | null;
  return typeof report === 'object' && report !== null && Array.isArray(report.runs) ? (report as Report) : undefined;
}

/** The start of a period, as the filter takes it. */
export function since(period: string, now = new Date()): string | undefined {
  switch (period) {
    case 'hour':
      return new Date(now.getTime() - 3_600_000).toISOString();
    case 'today':
      return new Date(now.getFullYear(), now.getMonth(), now.getDate()).toISOString();
    case 'week':
      return new Date(now.getTime() - 7 * 86_400_000).toISOString();
    default:
      return undefined;
  }
}

// Times as a person reads them: in the local zone and language; the exact one is for the tooltip.

import type { Language } from './i18n.svelte';

const DAY = 86_400_000;

/** `14:02:33` today, `12 Mar, 14:02` this year, with the year before. */
export function short(iso: string, to: Language, now = new Date()): string {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return iso;
  const sameDay = time.toDateString() === now.toDateString();
  const sameYear = time.getFullYear() === now.getFullYear();
  const options: Intl.DateTimeFormatOptions = sameDay
    ? { hour: '2-digit', minute: '2-digit', second: '2-digit' }
    : {
        ...(sameYear ? {} : { year: 'numeric' }),
        month: 'short',
        day: 'numeric',
        hour: '2-digit',
        minute: '2-digit',
      };
  return new Intl.DateTimeFormat(to, { ...options, hourCycle: 'h23' }).format(time);
}

/** `3 minutes ago`, up to a month; then the date. */
export function ago(iso: string, to: Language, now = new Date()): string {
  const time = new Date(iso);
  const ms = time.getTime() - now.getTime();
  if (Number.isNaN(ms)) return iso;
  const size = Math.abs(ms);
  if (size > 30 * DAY) return short(iso, to, now);
  const format = new Intl.RelativeTimeFormat(to, { numeric: 'auto' });
  if (size < 60_000) return format.format(Math.round(ms / 1000), 'second');
  if (size < 3_600_000) return format.format(Math.round(ms / 60_000), 'minute');
  if (size < DAY) return format.format(Math.round(ms / 3_600_000), 'hour');
  return format.format(Math.round(ms / DAY), 'day');
}

/** To the millisecond, with the zone, and the UTC form as it is recorded. */
export function exact(iso: string, to: Language): string {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return iso;
  const local = new Intl.DateTimeFormat(to, {
    dateStyle: 'full',
    timeStyle: 'long',
    hourCycle: 'h23',
  }).format(time);
  return `${local}\n${iso}`;
}

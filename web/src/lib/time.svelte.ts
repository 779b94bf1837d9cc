/** Times as people say them, in their own zone; the exact one is for the title of the element. */
import { settings, t } from './settings.svelte';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

class Clock {
  now = $state(Date.now());

  constructor() {
    setInterval(() => (this.now = Date.now()), SECOND);
  }
}

/** Ticks once a second, so that every age on the screen grows by itself. */
export const clock = new Clock();

/** How long, in the largest unit that says enough. */
export function lasted(milliseconds: number): string {
  const span = Math.max(0, milliseconds);
  if (span < MINUTE) return t('seconds', { n: Math.floor(span / SECOND) });
  if (span < HOUR) return t('minutes', { n: Math.floor(span / MINUTE) });
  if (span < DAY) {
    const minutes = Math.floor((span % HOUR) / MINUTE);
    return t('hours', { n: Math.floor(span / HOUR), m: minutes });
  }
  return t('days', { n: Math.floor(span / DAY) });
}

/** How long ago; grows by itself where it is used in a component. */
export function ago(time: string | null | undefined): string {
  if (!time) return '';
  const span = clock.now - Date.parse(time);
  return span < 5 * SECOND ? t('justNow') : t('ago', { age: lasted(span) });
}

/** How long until then. */
export function until(time: string | null | undefined): string {
  if (!time) return '';
  return lasted(Date.parse(time) - clock.now);
}

export function exact(time: string | null | undefined): string {
  if (!time) return '';
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return time;
  const locale = settings.lang === 'ko' ? 'ko-KR' : 'en-GB';
  return date.toLocaleString(locale, { dateStyle: 'medium', timeStyle: 'medium' });
}

/** The time of day, with the date where that is another one. */
export function moment(time: string | null | undefined): string {
  if (!time) return '';
  const date = new Date(time);
  const locale = settings.lang === 'ko' ? 'ko-KR' : 'en-GB';
  const today = date.toDateString() === new Date(clock.now).toDateString();
  const clockTime = date.toLocaleTimeString(locale, { hour: '2-digit', minute: '2-digit' });
  if (today) return clockTime;
  return `${date.toLocaleDateString(locale, { month: 'short', day: 'numeric' })} ${clockTime}`;
}

/** A day of the calendar, `2026-03-01`, as people write it. */
export function dayName(day: string): string {
  const locale = settings.lang === 'ko' ? 'ko-KR' : 'en-GB';
  return new Date(`${day}T00:00:00Z`).toLocaleDateString(locale, { month: 'short', day: 'numeric', timeZone: 'UTC' });
}

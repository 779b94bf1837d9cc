/** What agents have used, by day and by task, from the server's rows of both. */
import type { Limit, Spend, Task } from './shapes';

export interface Day {
  day: string;
  tokens: number;
  costUsd: number;
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** The last days up to today, those without any spend as well, so that the eye sees time. */
export function daysOf(rows: Pick<Spend, 'day' | 'tokens' | 'costUsd'>[], today: string, count: number): Day[] {
  const found = new Map<string, Day>();
  for (const row of rows) {
    const day = found.get(row.day) ?? { day: row.day, tokens: 0, costUsd: 0 };
    found.set(row.day, { day: row.day, tokens: day.tokens + row.tokens, costUsd: day.costUsd + (row.costUsd ?? 0) });
  }
  return lastDays(today, count).map((day) => found.get(day) ?? { day, tokens: 0, costUsd: 0 });
}

function lastDays(today: string, count: number): string[] {
  const last = Date.parse(`${today}T00:00:00Z`);
  return Array.from({ length: count }, (_, at) => new Date(last - (count - 1 - at) * DAY_MS).toISOString().slice(0, 10));
}

/** How long agents waited for a limit to end on each of the last days, in milliseconds; two at once count twice. */
export function limitedOf(limits: Pick<Limit, 'from' | 'until'>[], now: number, count: number): { day: string; span: number }[] {
  return lastDays(new Date(now).toISOString().slice(0, 10), count).map((day) => {
    const begin = Date.parse(`${day}T00:00:00Z`);
    const spans = limits.map(({ from, until }) => Math.min(until ? Date.parse(until) : now, begin + DAY_MS) - Math.max(Date.parse(from), begin));
    return { day, span: spans.filter((span) => span > 0).reduce((sum, span) => sum + span, 0) };
  });
}

/** The tasks that used most, by money where any is known, else by tokens. */
export function mostOf(tasks: Task[], count: number): { task: Task; tokens: number; costUsd: number }[] {
  const all = tasks.map((task) => ({ task, tokens: task.tokensUsed, costUsd: task.costUsd ?? 0 })).filter((one) => one.tokens > 0 || one.costUsd > 0);
  const money = all.some((one) => one.costUsd > 0);
  all.sort((one, other) => (money ? other.costUsd - one.costUsd : 0) || other.tokens - one.tokens || one.task.id.localeCompare(other.task.id));
  return all.slice(0, count);
}

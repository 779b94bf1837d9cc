/** What agents have used, by day and by task, from the server's rows of both. */
import type { Spend, Task } from './shapes';

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
  const last = Date.parse(`${today}T00:00:00Z`);
  return Array.from({ length: count }, (_, at) => {
    const day = new Date(last - (count - 1 - at) * DAY_MS).toISOString().slice(0, 10);
    return found.get(day) ?? { day, tokens: 0, costUsd: 0 };
  });
}

/** The tasks that used most, by money where any is known, else by tokens. */
export function mostOf(tasks: Task[], count: number): { task: Task; tokens: number; costUsd: number }[] {
  const all = tasks.map((task) => ({ task, tokens: task.tokensUsed, costUsd: task.costUsd ?? 0 })).filter((one) => one.tokens > 0 || one.costUsd > 0);
  const money = all.some((one) => one.costUsd > 0);
  all.sort((one, other) => (money ? other.costUsd - one.costUsd : 0) || other.tokens - one.tokens || one.task.id.localeCompare(other.task.id));
  return all.slice(0, count);
}

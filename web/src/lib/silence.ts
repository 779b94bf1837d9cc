/** Silence of an agent at work, told once it is long: it may hang. */
import { t } from './settings.svelte';
import type { Task } from './shapes';
import { clock, lasted } from './time.svelte';

const SILENCE_TOLD_MS = 60_000;

/** Nothing where it printed something lately, or does not run. */
export function silenceOf({ status, lastOutput, restartAfter }: Task['agentState']): string {
  if (status !== 'running' || !lastOutput) return '';
  const silent = clock.now - Date.parse(lastOutput);
  if (silent < SILENCE_TOLD_MS) return '';
  const limit = (restartAfter ?? 0) * 1000;
  const time = lasted(silent);
  return silent < limit ? t('silentUntilRestart', { time, limit: lasted(limit) }) : t('silentFor', { time });
}

/** The mark behind an excerpt: how much of the text it does not show. Nothing where it shows all of it. */
import { t } from './settings.svelte';
import type { Excerpt } from './text';

export function hiddenMark({ lines, characters }: Excerpt): string {
  const parts = [lines ? t('hiddenLines', { n: lines }) : '', characters ? t('hiddenCharacters', { n: characters }) : ''];
  return parts.filter(Boolean).join(', ');
}

/** The modes of files as git has them, in words. */
import { t } from './settings.svelte';

const PLAIN = '100644';

function wordOf(mode: string | null | undefined): string {
  if (mode === '100755') return t('modeExecutable');
  if (mode === '120000') return t('modeLink');
  if (mode === '160000') return t('modeRepository');
  return '';
}

/** What is to be known of a file besides its lines; nothing of one that is and was a plain file. */
export function modeNotes(before: string | null | undefined, after: string | null | undefined): string[] {
  const changed = before && after && before !== after ? `${before} → ${after}` : '';
  const kind = wordOf(after ?? before);
  const odd = after && after !== PLAIN && !kind ? after : '';
  return [kind || odd, changed].filter(Boolean);
}

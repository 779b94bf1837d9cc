/** Small things about text and numbers that several places show. */

export function bytes(count: number): string {
  if (count < 1024) return `${count} B`;
  const units = ['kB', 'MB', 'GB'];
  let value = count;
  let unit = 'B';
  for (const next of units) {
    if (value < 1024) break;
    value /= 1024;
    unit = next;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}

export function count(value: number): string {
  if (value < 1000) return String(value);
  if (value < 1_000_000) return `${trim(value / 1000)}k`;
  return `${trim(value / 1_000_000)}M`;
}

function trim(value: number): string {
  return value < 10 ? value.toFixed(1).replace(/\.0$/, '') : String(Math.round(value));
}

/** A whole number with its digits in groups of three. */
export function grouped(value: number): string {
  return value.toLocaleString('en-US');
}

export function dollars(value: number): string {
  return `$${value < 10 ? value.toFixed(2) : Math.round(value).toLocaleString('en-US')}`;
}

/**
 * Characters that show nothing, or reorder what stands around them: controls, format characters, all that Unicode calls ignorable
 * (fillers, variation selectors, tags), separators of lines and paragraphs, the empty Braille pattern, halves of pairs.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800]/gu;
const EMOJI = '[\u00a9\u00ae\u203c\u2049\u2100-\u27bf\u2900-\u2bff\u3030\u303d\u3297\u3299\u{1f000}-\u{1faff}]';
/** The invisible parts of an emoji: what chooses its colours, and what joins it to the next. */
const EMOJI_PARTS = new RegExp(`(?<=${EMOJI})[\ufe0e\ufe0f]|(?<=[0-9#*])\ufe0f(?=\u20e3)|(?<=${EMOJI}\ufe0f?)\u200d(?=${EMOJI})`, 'gu');

const nameOf = (letter: string): string => `⟨U+${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`;

function named(text: string, kept: string): string {
  return text.replace(INVISIBLE, (letter) => (kept.includes(letter) ? letter : nameOf(letter)));
}

/** Text with every invisible character named, so that what is read is what is there. Lines and tabs stay. */
export function plain(text: string): string {
  return named(text, '\n\t');
}

/** The same for a name, a path or anything else that stands on one line. */
export function plainName(text: string): string {
  return named(text, '');
}

function exceptEmoji(text: string, rest: (text: string) => string): string {
  let shown = '';
  let from = 0;
  for (const part of text.matchAll(EMOJI_PARTS)) {
    shown += rest(text.slice(from, part.index)) + part[0];
    from = part.index + part[0].length;
  }
  return shown + rest(text.slice(from));
}

/** The same for words that people read: lines may end as on Windows, and emoji are left whole. */
export function plainProse(text: string): string {
  return exceptEmoji(text.replaceAll('\r\n', '\n'), plain);
}

/** The same for a title: words on one line. */
export function plainTitle(text: string): string {
  return exceptEmoji(text, plainName);
}

/** What a line shows of a text, and how much it does not. */
export interface Excerpt {
  text: string;
  lines: number;
  characters: number;
}

const EXCERPT_CHARACTERS_MAX = 200;

/** The beginning of a text for a line of a list. */
export function excerptOf(text: string): Excerpt {
  const whole = text.trim();
  const lines = whole.split('\n');
  const shown = (lines[0] ?? '').slice(0, EXCERPT_CHARACTERS_MAX);
  return { text: shown, lines: lines.length - 1, characters: whole.length - shown.length };
}

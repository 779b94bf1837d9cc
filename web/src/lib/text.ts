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

export function dollars(value: number): string {
  return `$${value < 10 ? value.toFixed(2) : Math.round(value).toLocaleString('en-US')}`;
}

/** The characters that reorder or hide what stands around them: bidirectional controls and zero-width ones. */
const TRICKS = /[\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** The text with every invisible trick named, so that what is read is what is there. */
export function plain(text: string): string {
  return text.replace(TRICKS, (letter) => `⟨U+${letter.charCodeAt(0).toString(16).toUpperCase()}⟩`);
}

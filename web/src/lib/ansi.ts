/**
 * Lines of a terminal as coloured runs of plain text. Only colours and weights are believed; everything else an agent may
 * send to a terminal (cursor moves, titles, links, alternate screens) is dropped, and what is invisible is named.
 */
import { plainProse } from './text';

export interface Style {
  fg: string;
  bg: string;
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
}

export interface Run {
  text: string;
  style: Style;
}

export const NORMAL: Style = Object.freeze({
  fg: '',
  bg: '',
  bold: false,
  dim: false,
  italic: false,
  underline: false,
});

/** A line longer than this is cut on the screen; the file has all of it. */
export const SHOWN_CHARACTERS_MAX = 4000;

// CSI; OSC, DCS, PM, APC up to their terminator or the end of the line; other escapes with one letter.
const ESCAPE =
  // eslint-disable-next-line no-control-regex
  /\x1b\[([0-?]*)[ -/]*([@-~])|[\x1b][\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)|\x1b[ -/]*[0-~]|\x1b|\x9b[0-?]*[ -/]*[@-~]/g;
// eslint-disable-next-line no-control-regex
const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g;

/** The runs of one line, and the style that the next line begins with. */
export function runsOf(line: string, begin: Style): { runs: Run[]; end: Style; cut: number } {
  // A carriage return goes back to the beginning: what stands last is what a terminal shows.
  const body = line.endsWith('\r') ? line.slice(0, -1) : line;
  const lastReturn = body.lastIndexOf('\r');
  const shown = lastReturn < 0 ? body : body.slice(lastReturn + 1);
  const text = shown.length > SHOWN_CHARACTERS_MAX ? shown.slice(0, SHOWN_CHARACTERS_MAX) : shown;
  const runs: Run[] = [];
  let style = begin;
  let at = 0;
  const push = (part: string): void => {
    const clean = plainProse(part.replace(CONTROL, ''));
    if (clean) runs.push({ text: clean, style });
  };
  for (const match of text.matchAll(ESCAPE)) {
    push(text.slice(at, match.index));
    at = match.index + match[0].length;
    if (match[2] === 'm') style = styled(style, match[1] ?? '');
  }
  push(text.slice(at));
  return { runs, end: style, cut: shown.length - text.length };
}

/** The style after a line, without making its runs. */
export function styleAfter(line: string, begin: Style): Style {
  if (!line.includes('\x1b[')) return begin;
  let style = begin;
  for (const match of line.slice(0, SHOWN_CHARACTERS_MAX).matchAll(ESCAPE)) {
    if (match[2] === 'm') style = styled(style, match[1] ?? '');
  }
  return style;
}

/** The text of a line as it is searched and copied. */
export function textOf(line: string): string {
  return runsOf(line, NORMAL)
    .runs.map((run) => run.text)
    .join('');
}

function styled(style: Style, codes: string): Style {
  const numbers = codes.split(/[;:]/).map((code) => (code === '' ? 0 : Number(code)));
  let next = { ...style };
  for (let at = 0; at < numbers.length; at++) {
    const code = numbers[at] ?? 0;
    if (code === 0) next = { ...NORMAL };
    else if (code === 1) next.bold = true;
    else if (code === 2) next.dim = true;
    else if (code === 3) next.italic = true;
    else if (code === 4) next.underline = true;
    else if (code === 22) next.bold = next.dim = false;
    else if (code === 23) next.italic = false;
    else if (code === 24) next.underline = false;
    else if (code === 39) next.fg = '';
    else if (code === 49) next.bg = '';
    else if (code >= 30 && code <= 37) next.fg = `a${code - 30}`;
    else if (code >= 90 && code <= 97) next.fg = `a${code - 82}`;
    else if (code >= 40 && code <= 47) next.bg = `a${code - 40}`;
    else if (code >= 100 && code <= 107) next.bg = `a${code - 92}`;
    else if (code === 38 || code === 48) {
      const wide = numbers[at + 1] === 2;
      const colour = wide
        ? nearest(numbers[at + 2] ?? 0, numbers[at + 3] ?? 0, numbers[at + 4] ?? 0)
        : indexed(numbers[at + 2] ?? 0);
      if (code === 38) next.fg = colour;
      else next.bg = colour;
      at += wide ? 4 : 2;
    }
  }
  return next;
}

/** Every colour becomes one of sixteen, which the theme keeps readable. */
function indexed(index: number): string {
  if (index < 16) return `a${index}`;
  if (index >= 232) return index < 244 ? 'a8' : 'a7';
  const cube = index - 16;
  const level = (value: number): number => (value === 0 ? 0 : 55 + value * 40);
  return nearest(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6));
}

function nearest(red: number, green: number, blue: number): string {
  const brightest = Math.max(red, green, blue);
  if (brightest < 64) return 'a8';
  const on = (value: number): number => (value > brightest * 0.6 ? 1 : 0);
  const colour = on(red) + 2 * on(green) + 4 * on(blue);
  return `a${brightest > 190 ? colour + 8 : colour}`;
}

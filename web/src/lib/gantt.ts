/** Bars over time, with the hours in which nothing happened taken out. */

export interface Span {
  id: string;
  status: string;
  from: number;
  to: number;
}

export interface Scale {
  /** Where a moment stands, from 0 to 1. */
  at: (time: number) => number;
  /** The silences that were taken out, where each stands and how long it was. */
  breaks: { at: number; lasted: number }[];
}

/** A silence longer than this is shown as a break of its own small width. */
const SILENCE_SHARE_MAX = 0.08;
const BREAK_SHARE = 0.015;

export function scaleOf(spans: Span[]): Scale {
  const sorted = spans.toSorted((one, other) => one.from - other.from);
  const first = sorted[0]?.from ?? 0;
  const last = Math.max(first + 1, ...sorted.map((span) => span.to));
  const whole = last - first;
  const pieces: { from: number; to: number; silent: boolean }[] = [];
  let until = first;
  for (const span of sorted) {
    if (span.from > until) {
      const silent = (span.from - until) / whole > SILENCE_SHARE_MAX;
      pieces.push({ from: until, to: span.from, silent });
      until = span.from;
    }
    if (span.to > until) {
      pieces.push({ from: until, to: span.to, silent: false });
      until = span.to;
    }
  }
  const busy = pieces.filter((piece) => !piece.silent).reduce((sum, piece) => sum + piece.to - piece.from, 0) || 1;
  const silences = pieces.filter((piece) => piece.silent).length;
  const room = 1 - silences * BREAK_SHARE;
  const breaks: Scale['breaks'] = [];
  let place = 0;
  const placed = pieces.map((piece) => {
    const width = piece.silent ? BREAK_SHARE : ((piece.to - piece.from) / busy) * room;
    const one = { ...piece, place, width };
    if (piece.silent) breaks.push({ at: place + width / 2, lasted: piece.to - piece.from });
    place += width;
    return one;
  });
  return {
    breaks,
    at(time) {
      const piece = placed.find((one) => time <= one.to) ?? placed.at(-1);
      if (!piece) return 0;
      const share = (Math.max(time, piece.from) - piece.from) / (piece.to - piece.from || 1);
      return Math.min(1, piece.place + share * piece.width);
    },
  };
}

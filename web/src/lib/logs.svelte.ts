/** The output of one agent, read in pieces by byte offset and kept as lines. */
import { NORMAL, styleAfter, textOf, type Style } from './ansi';
import { api } from './api';

/** Small enough that the page answers between two pieces. */
const PIECE_BYTES = 128 * 1024;
/** What is kept of a very long output: the newest lines. The file has all of them. */
const LINES_MAX = 300_000;
/** A line without an end is cut here, so that a flood without line ends stays bounded. */
const LINE_CHARACTERS_MAX = 1_000_000;

export interface Mark {
  line: number;
  phase: number;
  title: string;
}

const PHASE = /^=== PHASE (\d+) COMPLETE/;
const STARTING = /^(?:Starting Phase|\[?Phase) (\d+)[:\]]\s*(.*)/i;

export class Log {
  /** Lines that were dropped at the beginning. */
  dropped = $state(0);
  /** Counts every change of the lines, which themselves are no state: a proxy for each would be slow. */
  version = $state(0);
  marks = $state.raw<Mark[]>([]);
  loading = $state(false);
  lines: string[] = [];
  #styles = new Map<number, Style>();
  #last: Style = NORMAL;
  #open = '';
  #offset = 0;
  #decoder = new TextDecoder();
  #reading = false;
  #again = false;

  /** `path` is the address of the output, which takes `offset` and `limit`. */
  constructor(readonly path: string) {}

  /** Output that is known as a whole. */
  static of(text: string): Log {
    const log = new Log('');
    log.#take(text.endsWith('\n') ? text : `${text}\n`);
    return log;
  }

  /** Reads what is new; called at the beginning and whenever the server says that there is more. */
  async read(): Promise<void> {
    if (this.#reading) {
      this.#again = true;
      return;
    }
    this.#reading = true;
    this.loading = this.lines.length === 0;
    try {
      do {
        this.#again = false;
        for (;;) {
          const piece = await api.log(this.path, this.#offset, PIECE_BYTES);
          if (!piece || piece.bytes.byteLength === 0) break;
          this.#offset = piece.next;
          this.#take(this.#decoder.decode(piece.bytes, { stream: true }));
        }
      } while (this.#again);
    } finally {
      this.#reading = false;
      this.loading = false;
    }
  }

  get length(): number {
    return this.lines.length;
  }

  /** The style a line begins with. */
  styleOf(line: number): Style {
    return this.#styles.get(line + this.dropped) ?? NORMAL;
  }

  /** Every line that has the text. */
  find(text: string): number[] {
    const wanted = text.toLowerCase();
    const found: number[] = [];
    for (const [at, line] of this.lines.entries()) {
      if (line.toLowerCase().includes(wanted) || (line.includes('\x1b') && textOf(line).toLowerCase().includes(wanted)))
        found.push(at);
    }
    return found;
  }

  #take(text: string): void {
    const parts = (this.#open + text).split('\n');
    this.#open = parts.pop() ?? '';
    if (this.#open.length > LINE_CHARACTERS_MAX) {
      parts.push(this.#open);
      this.#open = '';
    }
    const marks: Mark[] = [];
    for (const line of parts) {
      const at = this.lines.length;
      if (this.#last !== NORMAL) this.#styles.set(at + this.dropped, this.#last);
      this.#last = styleAfter(line, this.#last);
      this.lines.push(line);
      const said = line.startsWith('\x1b') ? textOf(line) : line;
      const phase = PHASE.exec(said) ?? STARTING.exec(said);
      if (phase) marks.push({ line: at + this.dropped, phase: Number(phase[1]), title: phase[2] ?? '' });
    }
    if (this.lines.length > LINES_MAX) {
      const over = this.lines.length - LINES_MAX;
      this.lines.splice(0, over);
      this.dropped += over;
    }
    if (marks.length) this.marks = [...this.marks, ...marks].slice(-200);
    this.version++;
  }
}

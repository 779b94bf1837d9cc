/** A capsule: one file with all that happened to a task. It comes from anywhere, so nothing in it is believed to be there. */
import { list, number, object, text, type Loose } from './loose';
import type { Transition } from './shapes';

const KIND = 'bowline-capsule';
const VERSION = 1;
/** Bytes that are no text stand behind this letter, one by one. */
const NO_TEXT = /[\u{10ff00}-\u{10ffff}]+/gu;

export interface Capsule {
  task: Loose;
  program: string;
  made: string;
  moves: Transition[];
  output: string;
}

/** Nothing when it is no capsule, or one of a later program. */
export function capsuleOf(written: string): Capsule | null {
  let given: Loose;
  try {
    given = object(JSON.parse(written));
  } catch {
    return null;
  }
  if (given['kind'] !== KIND || given['version'] !== VERSION) return null;
  return {
    task: object(given['task']),
    program: text(object(given['program'])['version']),
    made: text(given['made']),
    moves: list(given['transitions']).map((one, at) => moved(object(one), at)),
    output: text(object(given['output'])['text']).replace(NO_TEXT, '\ufffd'),
  };
}

function moved(move: Loose, at: number): Transition {
  return {
    timestamp: text(move['timestamp']),
    taskId: text(move['taskId']),
    type: text(move['type']),
    entity: text(move['entity']),
    from: text(move['from']) || null,
    to: text(move['to']),
    trigger: text(move['trigger']),
    metadata: object(move['metadata']),
    sequence: number(move['sequence']) ?? at + 1,
  };
}

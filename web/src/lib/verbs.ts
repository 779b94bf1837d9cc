/** Commands that the server proposes, as the verbs that it takes. */
import type { WorkspaceKind } from './shapes';

/** What a person has to say besides: a sentence, a word for programs, a file. */
export type Asked = 'text' | 'code' | 'path';

export type Said = Partial<Record<Asked, string>>;

export interface Verb {
  kind: WorkspaceKind;
  verb: string;
  id: string | null;
  asks: Asked[];
}

/** The verbs that the server takes for each kind; the command line has more. */
const KNOWN: Record<WorkspaceKind, string[]> = {
  thinking: ['start', 'complete', 'fail'],
  memory: ['pause', 'resume', 'cancel', 'recover', 'finish', 'step-start', 'step-complete', 'step-fail'],
  develop: ['review', 'implement', 'pr', 'done', 'back', 'checkpoint-start'],
  orchestrate: ['start', 'complete', 'retry'],
};

/** Options whose value a person says. */
const OPTIONS: Record<string, Asked> = { '--output': 'path', '--code': 'code', '--message': 'text', '--reason': 'text', '--override': 'text' };

/** The verb of a proposed command line; none where the command line alone can do it. */
export function verbOf(command: string): Verb | null {
  // Where the command line would be told the folder, the address of the request says it.
  const [program, noun, ...words] = command.replace(/ -C \S+/, '').split(' ');
  const kind = (Object.keys(KNOWN) as WorkspaceKind[]).find((one) => one === noun);
  if (program !== 'bowline' || !kind) return null;
  // The current task of a memory needs no name; a step and a checkpoint are a noun of their own.
  if (words[0] === 'task') words.shift();
  else if (words[0] === 'step' || words[0] === 'checkpoint') words.splice(0, 2, `${words[0]}-${words[1] ?? ''}`);
  const [verb, ...rest] = words;
  if (!verb || !KNOWN[kind].includes(verb)) return null;
  const id = rest[0] !== undefined && !rest[0].startsWith('-') ? (rest.shift() ?? null) : null;
  const asks: Asked[] = [];
  for (let at = 0; at < rest.length; at += 2) {
    const asked = OPTIONS[rest[at] ?? ''];
    // A name in capitals stands for what the caller knows.
    if (!asked || !/^[A-Z]+$/.test(rest[at + 1] ?? '')) return null;
    asks.push(asked);
  }
  return { kind, verb, id, asks };
}

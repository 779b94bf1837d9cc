/** Commands that the server proposes, as the verbs that it takes. */
import type { WorkspaceKind } from './shapes';

export interface Verb {
  kind: WorkspaceKind;
  verb: string;
  id: string | null;
}

/** The verbs of the interface that need no more than what they are about. */
const PLAIN: Partial<Record<WorkspaceKind, string[]>> = {
  thinking: ['start', 'complete'],
  memory: ['pause', 'resume', 'cancel', 'recover', 'step-start'],
  develop: ['review', 'implement', 'pr', 'done'],
  orchestrate: ['start', 'complete', 'retry'],
};

/** The verb of a proposed command line; none when something has to be filled in or the command line alone can do it. */
export function verbOf(command: string): Verb | null {
  // Where the command line would be told the folder, the address of the request says it.
  const [program, noun, ...words] = command.replace(/ -C \S+/, '').split(' ');
  const kind = (Object.keys(PLAIN) as WorkspaceKind[]).find((one) => one === noun);
  if (program !== 'bowline' || !kind) return null;
  // The current task of a memory needs no name, a step does.
  const said = kind === 'memory' ? (words[0] === 'step' ? [`step-${words[1] ?? ''}`, ...words.slice(2)] : words.slice(1)) : words;
  const [verb, ...rest] = said;
  if (!verb || rest.length > 1) return null;
  const id = rest[0] ?? null;
  const blank = id !== null && (id.startsWith('-') || /^[A-Z]+$/.test(id));
  return PLAIN[kind]?.includes(verb) && !blank ? { kind, verb, id } : null;
}

/** What a person may do with a state file: the server's actions, and which of them a proposed command stands for. */
import type { WorkspaceAction, WorkspaceState } from './shapes';

export interface Move {
  action: WorkspaceAction;
  /** What it is about, where it is about one thing. */
  id: string | null;
  /** The version of the file that was on the screen with it. */
  version?: number | null;
}

/** What a person says with it, by the names of the request. */
export interface Said {
  text?: string;
  code?: string;
  paths?: string;
  command?: string;
  values?: Record<string, number>;
  texts?: Record<string, string>;
}

/** The move of a proposed command line; none where the command line alone can do it. */
export function moveOf(command: string, actions: WorkspaceAction[]): Move | null {
  // Where the command line would be told the folder, the address of the request says it.
  const line = command.replace(/ (-C|--dir) ('[^']*'|\S+)/, '');
  const by = (line.includes(' --by-hand ') ? line.replace(' gate pass ', ' gate by-hand ') : line).replace(' doctor --repair ', ' file repair ');
  const [, , one = '', two = '', three = ''] = by.split(' ');
  // A gate, a checkpoint, a step and a phase are nouns of their own; the current task of a memory needs no name.
  for (const [verb, id] of [[`${one}-${two}`, three], [one, two], [two, three]]) {
    const action = actions.find((it) => it.verb === verb && (it.ids.length === 0 || it.ids.includes(id ?? '')));
    if (action) return { action, id: action.ids.length ? (id ?? null) : null };
  }
  return null;
}

/** What can be done with one thing: a gate, a checkpoint, a node. */
export function movesOn({ actions, version }: WorkspaceState, id: string): Move[] {
  return actions.filter((action) => action.ids.includes(id)).map((action) => ({ action, id, version }));
}

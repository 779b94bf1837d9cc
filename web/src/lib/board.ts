/** Which cards stand where. The order is that of creation and never changes under the reader. */
import type { Task } from './shapes';

export const STATUSES = ['draft', 'pending', 'in_progress', 'review', 'completed', 'failed'] as const;

export type Grouping = 'none' | 'label' | 'workspace' | 'type';

export interface Group {
  /** Empty where there is none to name: no label, or a folder that the task has for itself. */
  name: string;
  tasks: Task[];
}

export interface Column {
  status: string;
  count: number;
  groups: Group[];
}

export function matches(task: Task, words: string[]): boolean {
  if (words.length === 0) return true;
  const text = `${task.title} ${task.id} ${task.type} ${task.label ?? ''} ${task.agent ?? ''} ${task.workspace ?? ''} ${task.description}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

export function columnsOf(all: Iterable<Task>, query: string, grouping: Grouping): Column[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const columns = new Map<string, Task[]>(STATUSES.map((status) => [status, []]));
  for (const task of all) if (matches(task, words)) columns.get(task.status)?.push(task);
  return [...columns].map(([status, tasks]) => {
    tasks.sort((one, other) => other.createdAt.localeCompare(one.createdAt) || one.id.localeCompare(other.id));
    return { status, count: tasks.length, groups: grouped(tasks, grouping) };
  });
}

function grouped(tasks: Task[], grouping: Grouping): Group[] {
  if (grouping === 'none') return [{ name: '', tasks }];
  const groups = new Map<string, Task[]>();
  for (const task of tasks) {
    const name = grouping === 'workspace' ? repositoryOf(task) : (task[grouping] ?? '');
    const group = groups.get(name);
    if (group) group.push(task);
    else groups.set(name, [task]);
  }
  return [...groups].sort(([one], [other]) => one.localeCompare(other)).map(([name, list]) => ({ name, tasks: list }));
}

/** The folder that a person named. A task without one works in a folder of its own, which is called as it is and groups nothing. */
function repositoryOf({ id, workspace }: Task): string {
  return workspace && !workspace.endsWith(`/${id}`) ? workspace : '';
}

/** The shapes of the server's answers, as its OpenAPI document has them. */
import type { components } from './api.generated';
import { object, text } from './loose';

type Schemas = components['schemas'];

export type Task = Schemas['Task'];
export type Action = Schemas['Action'];
export type Agent = Schemas['Agent'];
export type Review = Schemas['Review'];
export type ReviewDiff = Schemas['ReviewDiff'];
export type FileDiff = Schemas['FileDiff'];
export type FileComment = Schemas['FileComment'];
export type Question = Schemas['Question'];
export type Dependency = Schemas['Dependency'];
export type Permission = Schemas['Permission'];
export type PermissionRule = Schemas['PermissionRule'];
export type NewPermissionRule = Schemas['NewPermissionRule'];
export type RuleTrial = Schemas['RuleTrial'];
export type Checkpoint = Schemas['Checkpoint'];
export type Transition = Schemas['Transition'];
export type Verification = Schemas['Verification'];
export type Phase = Schemas['Phase'];
export type Artifact = Schemas['Artifact'];
export type Utterance = Schemas['Utterance'];
export type ToolUse = Schemas['ToolUse'];
export type Saying = Schemas['Saying'];
export type Waiting = Schemas['InboxItem'];
export type TaskType = Schemas['TaskType'];
export type App = Schemas['App'];
export type Agents = Schemas['Agents'];
export type Node = Schemas['Node'];
export type Spend = Schemas['Spend'];
export type Stats = Schemas['Stats'];
export type Limit = Schemas['Limit'];
export type Workspace = Schemas['Workspace'];
export type WorkspaceKind = Schemas['WorkspaceKind'];
export type WorkspaceState = Schemas['WorkspaceState'];
export type FileTransition = Schemas['FileTransition'];
export type Rescued = Schemas['Rescued'];
export type WorkspaceBeginning = Schemas['WorkspaceBeginning'];
export type WorkspaceAction = Schemas['WorkspaceAction'];
export type ForkRequest = Schemas['ForkRequest'];
export type EditTask = Schemas['EditTask'];
export type NewTask = Schemas['NewTask'];

/** What a move of a state file was about: a stage, a step, a gate, a task. */
export function subjectOf({ metadata }: Transition): string {
  const facts = object(metadata);
  return ['stage', 'step', 'gate', 'checkpoint', 'task', 'id', 'node', 'phase', 'path'].map((key) => text(facts[key])).find(Boolean) ?? '';
}

/** Why something was not done. */
export interface Trouble {
  status: number;
  code: string;
  message: string;
  hint: string;
  /** What a command printed that was red. */
  output?: string;
}

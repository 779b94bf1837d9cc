/** Several things that wait, decided alike. Each decision is its own, on what was seen; the server judges each. */
import { api, type Answer } from './api';
import type { Waiting } from './shapes';

export type Deed = 'approve' | 'request-changes' | 'permit' | 'deny' | 'answer' | 'provide';

/** What can be said to several at once, by kind; a thing that is not here is decided alone. */
export const DEEDS: Record<string, Deed[]> = {
  review: ['approve', 'request-changes'],
  permission: ['permit', 'deny'],
  question: ['answer'],
  dependency: ['provide'],
};

export function decide(item: Waiting, deed: Deed, text: string): Promise<Answer<unknown>> {
  switch (deed) {
    case 'approve':
      return api.approve(item.id, item.version);
    case 'request-changes':
      return api.requestChanges(item.id, item.version, { feedback: text });
    case 'permit':
      return api.permit(item.id);
    case 'deny':
      return api.deny(item.id, text);
    case 'answer':
      return api.answer(item.id, text);
    case 'provide':
      return api.provide(item.id, text);
  }
}

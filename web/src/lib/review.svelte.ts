/** What a reviewer has written and looked at, kept in this browser until it is sent: a closed tab loses nothing. */
import { t } from './settings.svelte';
import type { FileComment } from './shapes';

/** A remark on a line, or on all lines from the first to it. */
export interface Remark {
  file: string;
  first: number;
  line: number;
  comment: string;
}

interface Kept {
  feedback: string;
  remarks: Remark[];
}

export class Draft {
  feedback = $state('');
  remarks = $state<Remark[]>([]);
  viewed = $state<Record<string, string>>({});
  readonly #key: string;
  readonly #viewedKey: string;

  constructor(reviewId: string, taskId: string) {
    this.#key = `bowline.review.${reviewId}`;
    this.#viewedKey = `bowline.viewed.${taskId}`;
    const kept = JSON.parse(localStorage.getItem(this.#key) ?? 'null') as Kept | null;
    this.feedback = kept?.feedback ?? '';
    this.remarks = kept?.remarks ?? [];
    this.viewed = JSON.parse(localStorage.getItem(this.#viewedKey) ?? '{}') as Record<string, string>;
  }

  keep(): void {
    localStorage.setItem(this.#key, JSON.stringify({ feedback: this.feedback, remarks: this.remarks }));
  }

  clear(): void {
    localStorage.removeItem(this.#key);
    this.feedback = '';
    this.remarks = [];
  }

  /** The remarks as they are sent: an agent is told a line, and of several which. */
  comments(): FileComment[] {
    return this.remarks.map(({ file, first, line, comment }) => ({
      file,
      line,
      comment: first === line ? comment : `${t('linesRange', { from: first, to: line })} ${comment}`,
    }));
  }

  /** A mark belongs to the content that was looked at: another hash, and it is gone. */
  isViewed(path: string, hash: string): boolean {
    return hash !== '' && this.viewed[path] === hash;
  }

  /** It was looked at, and is something else now. */
  hasChanged(path: string, hash: string): boolean {
    return hash !== '' && path in this.viewed && this.viewed[path] !== hash;
  }

  mark(path: string, hash: string, viewed: boolean): void {
    if (viewed) this.viewed[path] = hash;
    else delete this.viewed[path];
    localStorage.setItem(this.#viewedKey, JSON.stringify(this.viewed));
  }
}

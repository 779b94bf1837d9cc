/** What a reviewer has written and looked at, kept in this browser until it is sent: a closed tab loses nothing. */
import type { FileComment } from './shapes';

interface Kept {
  feedback: string;
  comments: FileComment[];
}

export class Draft {
  feedback = $state('');
  comments = $state<FileComment[]>([]);
  viewed = $state<Record<string, string>>({});
  readonly #key: string;
  readonly #viewedKey: string;

  constructor(reviewId: string, taskId: string) {
    this.#key = `bowline.review.${reviewId}`;
    this.#viewedKey = `bowline.viewed.${taskId}`;
    const kept = JSON.parse(localStorage.getItem(this.#key) ?? 'null') as Kept | null;
    if (kept) {
      this.feedback = kept.feedback;
      this.comments = kept.comments;
    }
    this.viewed = JSON.parse(localStorage.getItem(this.#viewedKey) ?? '{}') as Record<string, string>;
  }

  keep(): void {
    localStorage.setItem(this.#key, JSON.stringify({ feedback: this.feedback, comments: this.comments }));
  }

  clear(): void {
    localStorage.removeItem(this.#key);
    this.feedback = '';
    this.comments = [];
  }

  /** A mark belongs to the content that was looked at: another hash, and it is gone. */
  isViewed(path: string, hash: string): boolean {
    return this.viewed[path] === hash;
  }

  mark(path: string, hash: string, viewed: boolean): void {
    if (viewed) this.viewed[path] = hash;
    else delete this.viewed[path];
    localStorage.setItem(this.#viewedKey, JSON.stringify(this.viewed));
  }
}

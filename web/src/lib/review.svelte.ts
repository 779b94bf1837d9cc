/** What a reviewer has written and looked at, kept in this browser until it is sent. */
import { Draft, readDraft, waitingKey, writeDraft } from './drafts.svelte';
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
  text: string;
  remarks: Remark[];
  writing: Record<string, Remark>;
}

export class ReviewDraft extends Draft {
  remarks = $state<Remark[]>([]);
  /** The remark in the making of each file. */
  writing = $state<Record<string, Remark>>({});
  viewed = $state<Record<string, string>>({});
  readonly #viewedKey: string;

  constructor(reviewId: string, taskId: string, title: string) {
    super(waitingKey(reviewId), title);
    this.#viewedKey = `bowline.viewed.${taskId}`;
    const kept = readDraft<Kept>(this.key);
    this.remarks = kept?.remarks ?? [];
    this.writing = kept?.writing ?? {};
    this.viewed = JSON.parse(localStorage.getItem(this.#viewedKey) ?? '{}') as Record<string, string>;
  }

  override save(): void {
    const remarks = [...this.remarks, ...Object.values(this.writing)].filter((one) => one.comment.trim());
    const words = [this.text, ...remarks.map(({ file, line, comment }) => `${file}:${line}: ${comment}`)];
    const value = { text: this.text, remarks: this.remarks, writing: this.writing };
    writeDraft(this.key, value, words.filter((one) => one.trim()).join('\n'), this.about);
  }

  override clear(): void {
    super.clear();
    this.remarks = [];
    this.writing = {};
  }

  /** Begins, changes or ends the remark in the making of a file. */
  write(file: string, remark: Remark | null): void {
    if (remark) this.writing[file] = remark;
    else delete this.writing[file];
    this.save();
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

/** Inputs of tools made by chance, the same for the same seed. */
const TEXTS = ['ls -la', 'line one\nline two\n\tthree', '\u202eevil', 'a\u3164b\u00ad', '한글 경로/계획.md', '⚠️ emoji 👨‍👩‍👧', '<b onclick="x">bold</b>', '   spaces   ', '*** Begin Patch\nodd', '{"json": "text"}', '&amp; "quotes" \'single\' \\n', 'x'.repeat(3000)];
const KEYS = ['command', 'file_path', 'path', 'old_string', 'new_string', 'content', 'edits', 'changes', 'diff', 'patch', 'replace_all', 'description', 'odd key', '__proto__x', 'ключ'];

/** @param {number} seed */
export function randomInput(seed) {
  let state = seed * 2654435761;
  const next = (/** @type {number} */ below) => {
    state = (Math.imul(state ^ (state >>> 15), 2246822519) + 0x9e3779b9) | 0;
    return ((state ^ (state >>> 13)) >>> 0) % below;
  };
  /** @returns {unknown} */
  const value = (/** @type {number} */ depth) => {
    switch (next(depth > 3 ? 5 : 8)) {
      case 0:
        return next(2) === 0;
      case 1:
        return next(1_000_000) / (1 + next(7));
      case 5:
        return Array.from({ length: next(4) }, () => value(depth + 1));
      case 6:
      case 7:
        return object(depth + 1);
      default:
        return `${TEXTS[next(TEXTS.length)]}${next(1000)}`;
    }
  };
  /** @returns {Record<string, unknown>} */
  const object = (/** @type {number} */ depth) => Object.fromEntries(Array.from({ length: 1 + next(5) }, () => [KEYS[next(KEYS.length)], value(depth)]));
  return object(0);
}

/** Every text, number and truth of an input. @param {unknown} value @returns {(string | number | boolean)[]} */
export function leavesOf(value) {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(leavesOf);
  return value === null || value === undefined ? [] : [/** @type {string | number | boolean} */ (value)];
}

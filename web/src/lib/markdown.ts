/** Documents of agents as safe elements: Markdown is rendered, HTML in it is text, nothing is loaded from elsewhere. */
import DOMPurify from 'dompurify';
import { Marked, type Tokens } from 'marked';
import { plainProse } from './text';

const marked = new Marked({
  gfm: true,
  renderer: {
    html({ text }: Tokens.HTML | Tokens.Tag): string {
      return escaped(text);
    },
  },
});

const ALLOWED = {
  ALLOWED_TAGS: [
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'p', 'br', 'hr', 'blockquote', 'pre', 'code', 'ul', 'ol', 'li'],
    ...['strong', 'em', 'del', 'a', 'img', 'table', 'thead', 'tbody', 'tr', 'th', 'td', 'input'],
  ],
  ALLOWED_ATTR: ['href', 'src', 'alt', 'title', 'align', 'type', 'checked', 'disabled', 'start'],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|#|[^a-z]|[a-z+.-]+(?:[^a-z+.\-:]|$))/i,
};

/**
 * The document as a fragment. Pictures are taken from `files`, the address of the task's artefacts, or not at all. In what was
 * said, and not written as a document, a line ends where it ends.
 */
export function rendered(text: string, files: string, breaks = false): DocumentFragment {
  const html = marked.parse(plainProse(text), { async: false, breaks });
  const fragment = DOMPurify.sanitize(html, { ...ALLOWED, RETURN_DOM_FRAGMENT: true });
  for (const image of fragment.querySelectorAll('img')) {
    const source = image.getAttribute('src') ?? '';
    if (/^[a-z][a-z0-9+.-]*:|^\/\//i.test(source)) {
      image.replaceWith(document.createTextNode(`[${image.alt || source}]`));
    } else {
      image.src = files + source.replace(/^\.?\//, '').split('/').map(encodeURIComponent).join('/');
      image.loading = 'lazy';
    }
  }
  for (const link of fragment.querySelectorAll('a')) {
    if (/^https?:/i.test(link.getAttribute('href') ?? '')) {
      link.target = '_blank';
      link.rel = 'noopener noreferrer nofollow';
    } else if (!(link.getAttribute('href') ?? '').startsWith('#')) {
      // A path of the workspace is no page of ours.
      link.replaceWith(...link.childNodes);
    }
  }
  for (const box of fragment.querySelectorAll('input')) {
    if (box.type !== 'checkbox') box.remove();
    else {
      box.disabled = true;
      box.setAttribute('aria-label', box.checked ? '☑' : '☐');
    }
  }
  return fragment;
}

function escaped(text: string): string {
  const names: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return text.replace(/[&<>"]/g, (letter) => names[letter] ?? letter);
}

/** What the reader chose for this browser: language, theme, and whether to be notified. */
import { plainTitle } from './text';
import { words, type Parameters, type Word } from './words';

export type Lang = 'en' | 'ko';
export type Theme = 'dark' | 'light';

const KEY_LANG = 'bowline.lang';
const KEY_THEME = 'bowline.theme';

class Settings {
  lang = $state<Lang>(firstLang());
  theme = $state<Theme>(document.documentElement.dataset['theme'] === 'dark' ? 'dark' : 'light');

  constructor() {
    document.documentElement.lang = this.lang;
  }

  setLang(lang: Lang): void {
    this.lang = lang;
    localStorage.setItem(KEY_LANG, lang);
    document.documentElement.lang = lang;
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    localStorage.setItem(KEY_THEME, theme);
    document.documentElement.dataset['theme'] = theme;
  }
}

function firstLang(): Lang {
  const chosen = localStorage.getItem(KEY_LANG) ?? navigator.language;
  return chosen.startsWith('ko') ? 'ko' : 'en';
}

export const settings = new Settings();

/** A sentence of the table in the reader's language, with its parameters. */
export function t<W extends Word>(
  word: W,
  ...values: [Parameters[W]] extends [never] ? [] : [Record<Parameters[W], string | number>]
): string {
  const given = values[0] as Record<string, string | number> | undefined;
  const whole: string = words[settings.lang][word];
  if (!given) return whole;
  // Where one is said otherwise than several, the sentence has both.
  const [one, several] = whole.split(' | ');
  const text = (Number(given['n']) === 1 ? one : several) ?? whole;
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(given[name] ?? whole));
}

/** The word of a value that the server sends, such as a status; the value itself where the table has none. */
export function named(group: string, value: string | null | undefined): string {
  if (!value) return '';
  const camel = value.replace(/[-_ ]+(\w)/g, (_, letter: string) => letter.toUpperCase());
  const key = group + camel.charAt(0).toUpperCase() + camel.slice(1);
  const table: Record<string, string> = words[settings.lang];
  return table[key] ?? plainTitle(value);
}

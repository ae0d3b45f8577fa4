// The person's language. `t` is reactive: it reads the language where it is called.

import { type Key, messages } from './messages';

export const LANGUAGES = ['en', 'zh-CN'] as const;
export type Language = (typeof LANGUAGES)[number];

class Choice {
  /** What the application says. */
  system = $state<Language>('en');
  /** What the person chose for this window, if anything. */
  chosen = $state<Language | undefined>(stored());

  get current(): Language {
    return this.chosen ?? this.system;
  }

  choose(language: Language | undefined): void {
    this.chosen = language;
    if (language) localStorage.setItem('language', language);
    else localStorage.removeItem('language');
  }
}

function stored(): Language | undefined {
  const value = globalThis.localStorage?.getItem('language');
  return LANGUAGES.find((language) => language === value);
}

export const language = new Choice();

/** The nearest language that there is. */
export function nearest(tag: string): Language {
  return tag.toLowerCase().startsWith('zh') ? 'zh-CN' : 'en';
}

export type Params = Record<string, string | number>;

/** The message in the person's language. `{name}` stands for a parameter; `n` also chooses between one and several. */
export function t(key: Key, params: Params = {}): string {
  return translate(language.current, key, params);
}

export function translate(to: Language, key: Key, params: Params = {}): string {
  // Names that come from the host (events, rules) may be newer than this window.
  const entry = messages[key]?.[to] ?? key.slice(key.lastIndexOf('.') + 1);
  const text = typeof entry === 'string' ? entry : params.n === 1 ? entry.one : entry.other;
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = params[name];
    return value === undefined ? whole : typeof value === 'number' ? value.toLocaleString(to) : value;
  });
}

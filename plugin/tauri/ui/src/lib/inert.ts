// Text of strangers, made harmless to look at, as `approval::inert` does it for the native dialog: what cannot be seen is
// written out (`\u{202e}`), and a cut is marked. It changes what is shown, never what is sent. The result goes into text
// nodes only.

/** A piece of text as it is, or something invisible written out. */
export type Segment = { text: string; escaped: boolean };

/** Control, format (bidirectional, zero-width, tags), private, unassigned, separators, unusual spaces, blank letters. */
const INVISIBLE =
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: each of them alone is meant.
  /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Cn}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0\u2800\u17b4\u17b5\u034f\u180b-\u180f\ufe00-\ufe0f\u{e0100}-\u{e01ef}]|(?![ \u3000])\p{Zs}/u;
const MARK = /\p{M}/u;
/** Combining marks that may follow each other; what is above is piled up to hide something. */
const MAX_MARKS = 4;

/** `text` in segments. `lines` keeps newlines and tabs; otherwise they are written out, so that it stays one line. */
export function segments(text: string, lines: boolean): Segment[] {
  const result: Segment[] = [];
  let plain = '';
  let marks = 0;
  const writeOut = (shown: string) => {
    if (plain) result.push({ text: plain, escaped: false });
    plain = '';
    result.push({ text: shown, escaped: true });
  };
  const characters = Array.from(text);
  characters.forEach((character, index) => {
    const code = character.codePointAt(0) ?? 0;
    marks = code > 0x7f && MARK.test(character) ? marks + 1 : 0;
    if (character === '\n' || character === '\t') {
      if (lines) plain += character;
      else writeOut(character === '\n' ? '\\n' : '\\t');
    } else if (character === '\r') {
      // A line end as Windows writes it is one line end; a lone one would overwrite the line.
      if (!lines || characters[index + 1] !== '\n') writeOut('\\r');
    } else if (code >= 0x20 && code < 0x7f) {
      plain += character;
    } else if (marks > MAX_MARKS || INVISIBLE.test(character)) {
      writeOut(`\\u{${code.toString(16)}}`);
    } else {
      plain += character;
    }
  });
  if (plain) result.push({ text: plain, escaped: false });
  return result;
}

/** The first `max` characters, and how many were left out. */
export function cut(text: string, max: number): { kept: string; leftOut: number } {
  // Most texts are short; only a long one is counted in characters.
  if (text.length <= max) return { kept: text, leftOut: 0 };
  const characters = Array.from(text);
  return { kept: characters.slice(0, max).join(''), leftOut: Math.max(0, characters.length - max) };
}

/** One line of at most `max` characters, for places that take a string: names in sentences, titles, labels. */
export function line(text: string, max = 128): string {
  const { kept, leftOut } = cut(text, max);
  const shown = segments(kept, false)
    .map((segment) => segment.text)
    .join('');
  return leftOut > 0 ? `${shown}…` : shown;
}

/** Whether it holds letters that can pass for ASCII ones. */
export function isPlainAscii(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text);
}

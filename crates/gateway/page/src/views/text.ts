/** Names that come from elsewhere, as text. */

/** Control characters, and those that turn the direction of what follows. */
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** The text without characters that do something instead of being something. */
export const clean = (text: string): string => text.replace(UNSAFE, "\ufffd");

/** True if each word of the search is in one of the texts. */
export function matches(search: string, texts: (string | null)[]): boolean {
  const all = texts.filter((text) => text !== null).join("\n").toLowerCase();
  return search.toLowerCase().split(/\s+/).every((word) => all.includes(word));
}

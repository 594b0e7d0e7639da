/** Types as the description of an actor spells them: `Vec<(Item, [u8; 4])>`. */

/** Levels of a type that are read: more than a person writes. */
const DEPTH_MAX = 32;

/** `name` is the last part of a path; `(` is a tuple, `[` an array or a slice. */
export interface Kind {
  name: string;
  parts: Kind[];
}

/** Reads a whole type. What is no such type is `undefined`: its values go as they are. */
export function parseKind(spelled: string): Kind | undefined {
  const tokens = spelled.match(/'\w+|\w+|::|[^\s\w]/g) ?? [];
  let at = 0;
  const accept = (token: string) => tokens[at] === token && ++at > 0;

  function list(end: string, depth: number): Kind[] | undefined {
    const kinds: Kind[] = [];
    while (!accept(end)) {
      if (tokens[at]?.startsWith("'")) at += 1;
      else {
        const one = kind(depth);
        if (one === undefined) return undefined;
        kinds.push(one);
      }
      if (!accept(",")) return accept(end) ? kinds : undefined;
    }
    return kinds;
  }

  function kind(depth: number): Kind | undefined {
    if (depth === 0) return undefined;
    if (accept("&")) {
      if (tokens[at]?.startsWith("'")) at += 1;
      return kind(depth - 1);
    }
    if (accept("(")) {
      const parts = list(")", depth - 1);
      return parts && { name: "(", parts };
    }
    if (accept("[")) {
      const item = kind(depth - 1);
      while (at < tokens.length && tokens[at] !== "]") at += 1;
      return item && accept("]") ? { name: "[", parts: [item] } : undefined;
    }
    let name = tokens[at++];
    while (accept("::")) name = tokens[at++];
    if (name === undefined || !/^\w+$/.test(name)) return undefined;
    const parts = accept("<") ? list(">", depth - 1) : [];
    return parts && { name, parts };
  }

  const whole = kind(DEPTH_MAX);
  return at === tokens.length ? whole : undefined;
}

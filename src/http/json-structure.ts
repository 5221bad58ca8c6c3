/** Characters between two stops of a walk over a text. */
export const STRIDE = 16_384;
/** What a body's structure is made of. Mostly the next piece is near; looking for a far one by hand costs five times the search. */
const STRUCTURE = /["{}[\],]/g;
const NEAR = 16;

/** Where the next piece of structure is; the end of the stretch that was looked at where that has none. Cost: at most a stride. */
export const nextPiece = (text: string, from: number): number => {
  const near = Math.min(from + NEAR, text.length);
  for (let at = from; at < near; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22 || code === 0x2c || code === 0x5b || code === 0x5d || code === 0x7b || code === 0x7d) return at;
  }
  if (near === text.length) return near;
  STRUCTURE.lastIndex = 0;
  // `exec` would make a match of each piece.
  const stretch = text.slice(near, near + STRIDE);
  return near + (STRUCTURE.test(stretch) ? STRUCTURE.lastIndex - 1 : stretch.length);
};

/** Quotes of one string between two stops. */
const QUOTES = 4096;

/** Where the string ends that begins here: at the next quote with an even number of backslashes before it. */
export const endOfString = function* (text: string, start: number): Generator<void, number> {
  let quotes = 0;
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let before = at - 1;
    while (text.charCodeAt(before) === 0x5c) before--;
    if ((at - before) % 2 === 1) return at;
    if (++quotes % QUOTES === 0) yield;
  }
  throw new SyntaxError("string without end");
};

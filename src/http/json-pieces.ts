import { endOfString, nextPiece, STRIDE } from "./json-structure.ts";

/** Characters that are parsed at once: some hundred microseconds. */
const PIECE = 65_536;

/** An object or array that is open. */
interface Frame {
  readonly isMap: boolean;
  /** Members that were made already, those of an object by name; none while all of it is to be parsed at once. */
  members: unknown[] | undefined;
  readonly begins: number;
  /** Where the text begins that was not parsed yet, and in it the member that is being read. */
  from: number;
  member: number;
  /** The member that is being read was made already. */
  isMade: boolean;
}

const isBlank = (text: string): boolean => !/[^ \t\n\r]/.test(text);

/** The text between two quotes, in pieces that end at no escape's middle. */
const parseText = function* (text: string, from: number, end: number): Generator<void, string> {
  const parts: string[] = [];
  for (let at = from, to = 0; at < end; at = to) {
    to = Math.min(at + PIECE, end);
    const escape = to === end ? -1 : text.slice(to - 6, to).lastIndexOf("\\");
    let before = to - 6 + escape;
    while (before >= at && text.charCodeAt(before) === 0x5c) before--;
    if (escape !== -1 && (to - 6 + escape - before) % 2 === 1) to += escape - 6;
    parts.push(JSON.parse(`"${text.slice(at, to)}"`) as string);
    yield;
  }
  return parts.join("");
};

/**
 * As `parse` of the whole text, in which no object names a member twice; it stops between pieces. `parse` reads each of them, and `look`
 * gets all that is made. Throws SyntaxError. Cost: one more walk over the text, each character parsed once.
 */
export const parseInPieces = function* (
  text: string,
  parse: (piece: string) => unknown,
  look: (made: unknown) => void,
): Generator<void, unknown> {
  const partOf = (piece: string): object => {
    const made = parse(piece);
    look(made);
    return made as object;
  };
  const open: Frame[] = [{ isMap: false, members: undefined, begins: 0, from: 0, member: 0, isMade: false }];
  let top = open[0] as Frame;
  /** Makes the members that stand whole before `to`; at least one, as a comma stands beside them. */
  const make = (frame: Frame, to: number): void => {
    const piece = text.slice(frame.from, to);
    const made: unknown[] = frame.isMap ? Object.entries(partOf(`{${piece}}`)) : Object.values(partOf(`[${piece}]`));
    if (made.length === 0) throw new SyntaxError("comma without member");
    frame.members ??= [];
    for (const one of made) frame.members.push(one);
  };
  /** Puts a value that was made in place of the text from `begins` to `end`. */
  const place = (value: unknown, begins: number, end: number): void => {
    if (top.isMade) throw new SyntaxError("two values without a comma");
    if (top.member > top.from) make(top, top.member - 1);
    const head = text.slice(top.member, begins);
    if (top.isMap) (top.members ??= []).push([Object.keys(partOf(`{${head}0}`))[0], value]);
    else if (isBlank(head)) (top.members ??= []).push(value);
    else throw new SyntaxError("two values without a comma");
    [top.from, top.member, top.isMade] = [end + 1, end + 1, true];
  };
  /** The value of a frame whose text ends here; `undefined`: it is small, and parsed with what is around it. */
  const close = (frame: Frame, end: number): { readonly value: unknown } | undefined => {
    if (frame.members === undefined && end - frame.begins < PIECE && frame !== open[0]) return undefined;
    const isRest = !isBlank(text.slice(frame.from, end));
    if (frame.isMade && isRest) throw new SyntaxError("two values without a comma");
    // Behind a comma there is a member.
    if (isRest || (!frame.isMade && frame.members !== undefined)) make(frame, end);
    const members = frame.members ?? [];
    return { value: frame.isMap ? Object.fromEntries(members as [string, unknown][]) : members };
  };
  let stop = STRIDE;
  for (let at = nextPiece(text, 0); at < text.length; at = nextPiece(text, at + 1)) {
    if (at >= stop) {
      stop = at + STRIDE;
      yield;
    }
    const code = text.charCodeAt(at);
    if (code === 0x22) {
      const end = yield* endOfString(text, at);
      // What stands before it is looked at for a large one alone: small ones are many, and may stand behind one long run of blanks.
      if (end - at > PIECE && !(top.isMap && isBlank(text.slice(top.member, at)))) {
        const made = yield* parseText(text, at + 1, end);
        look(made);
        place(made, at, end);
      }
      at = end;
    } else if (code === 0x7b || code === 0x5b) {
      top = { isMap: code === 0x7b, members: undefined, begins: at, from: at + 1, member: at + 1, isMade: false };
      open.push(top);
    } else if (code === 0x7d || code === 0x5d) {
      const ended = open.pop() as Frame;
      const holder = open.at(-1);
      if (holder === undefined || ended.isMap !== (code === 0x7d)) throw new SyntaxError("closed otherwise than it was opened");
      top = holder;
      const made = close(ended, at);
      if (made !== undefined) place(made.value, ended.begins, at);
    } else if (code === 0x2c) {
      if (open.length === 1) throw new SyntaxError("two values");
      if (top.isMade && !isBlank(text.slice(top.from, at))) throw new SyntaxError("two values without a comma");
      if (!top.isMade && at - top.from > PIECE) {
        make(top, at);
        top.from = at + 1;
      } else if (top.isMade) top.from = at + 1;
      [top.member, top.isMade] = [at + 1, false];
    }
  }
  if (open.length > 1) throw new SyntaxError("not closed");
  const values = close(top, text.length)?.value as unknown[];
  if (values.length !== 1) throw new SyntaxError("no value");
  return values[0];
};

/** Server-sent events on the wire, both ways: https://html.spec.whatwg.org/multipage/server-sent-events.html */

export interface SseFrame {
  /** `event:` line; absent = the default, `message`. */
  readonly event?: string | undefined;
  readonly id?: string | undefined;
  /** May hold line breaks; each line becomes a `data:` line. Absent: nothing is delivered to listeners. */
  readonly data?: string | undefined;
  /** Milliseconds a client waits before it connects again. */
  readonly retry?: number | undefined;
  /** Seen by nobody; keeps the connection busy. */
  readonly comment?: string | undefined;
}

const LINE_BREAK = /\r\n|\r|\n/;
/** By what nearly every text has, where it has no more: the pattern looks at each character. */
const linesOf = (text: string): readonly string[] => (text.includes("\r") ? text.split(LINE_BREAK) : text.split("\n"));
const ONE_LINE = /^[^\r\n\0]*$/;

const field = (name: string, value: string): string => {
  if (!ONE_LINE.test(value)) throw new TypeError(`${name} of a frame is one line without NUL`);
  return value === "" ? `${name}\n` : `${name}: ${value}\n`;
};

/** Text of one frame, its blank line included. Throws TypeError if `event` or `id` could end its line or is ambiguous. */
export const sseFrame = (frame: SseFrame): string => {
  let text = "";
  if (frame.comment !== undefined) for (const line of linesOf(frame.comment)) text += `: ${line}\n`;
  if (frame.retry !== undefined) text += field("retry", String(Math.round(frame.retry)));
  if (frame.event !== undefined) text += field("event", frame.event);
  if (frame.id !== undefined) text += field("id", frame.id);
  if (frame.data !== undefined) for (const line of linesOf(frame.data)) text += `data: ${line}\n`;
  return `${text}\n`;
};

/** Headers of an event stream: never stored, never compressed or held back on its way. */
export const sseHeaders: Readonly<Record<string, string>> = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
  "x-content-type-options": "nosniff",
};

/** What a reader of a stream is given. */
export type SsePart =
  | { readonly kind: "message"; readonly event: string; readonly data: string; readonly lastEventId: string }
  | { readonly kind: "retry"; readonly milliseconds: number }
  | { readonly kind: "comment"; readonly text: string };

export interface SseParser {
  /** What these bytes complete; a frame, a line or a character may lie across several calls. */
  push(bytes: Uint8Array): readonly SsePart[];
  /** The `id:` of the last frame that was read whole, also of frames without data: a frame cut in the middle was not given. */
  readonly lastEventId: string;
}

/**
 * Reads a stream as browsers do: CR, LF and CRLF end lines, a byte order mark at the start is skipped, an id with NUL and a
 * retry that is no number are ignored. Throws RangeError when a frame grows beyond `maxBytes` (default 4 MiB).
 */
export const createSseParser = (maxBytes = 4 * 1_048_576): SseParser => {
  const decoder = new TextDecoder("utf-8");
  let rest = "";
  let afterCarriageReturn = false;
  let event = "";
  let data: string[] = [];
  let size = 0;
  let lastEventId = "";
  let givenId = "";

  const endFrame = (parts: SsePart[]): void => {
    givenId = lastEventId;
    if (data.length > 0) parts.push({ kind: "message", event: event === "" ? "message" : event, data: data.join("\n"), lastEventId });
    event = "";
    data = [];
    size = 0;
  };

  const readField = (name: string, value: string, parts: SsePart[]): void => {
    if (name === "data") data.push(value);
    else if (name === "event") event = value;
    else if (name === "id" && !value.includes("\0")) lastEventId = value;
    else if (name === "retry" && /^\d+$/.test(value)) parts.push({ kind: "retry", milliseconds: Number(value) });
  };

  const readLine = (line: string, parts: SsePart[]): void => {
    if (line === "") return endFrame(parts);
    size += line.length;
    if (size > maxBytes) throw new RangeError("a frame of the stream is too large");
    const colon = line.indexOf(":");
    if (colon === 0) parts.push({ kind: "comment", text: line.slice(line[1] === " " ? 2 : 1) });
    else if (colon === -1) readField(line, "", parts);
    else readField(line.slice(0, colon), line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1), parts);
  };

  return {
    push: (bytes) => {
      const parts: SsePart[] = [];
      let text = decoder.decode(bytes, { stream: true });
      // The CR that ended the last line may have been the first half of a CRLF.
      if (afterCarriageReturn && text.startsWith("\n")) text = text.slice(1);
      if (text !== "") afterCarriageReturn = text.endsWith("\r");
      rest += text;
      let start = 0;
      const hasReturns = rest.includes("\r");
      for (let at = nextBreak(rest, start, hasReturns); at !== -1; at = nextBreak(rest, start, hasReturns)) {
        readLine(rest.slice(start, at), parts);
        start = rest[at] === "\r" && rest[at + 1] === "\n" ? at + 2 : at + 1;
      }
      rest = rest.slice(start);
      if (rest.length > maxBytes) throw new RangeError("a line of the stream is too large");
      return parts;
    },
    get lastEventId() {
      return givenId;
    },
  };
};

/** The next line break; `hasReturns`: it may be a CR too. */
const nextBreak = (text: string, from: number, hasReturns: boolean): number => {
  if (!hasReturns) return text.indexOf("\n", from);
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x0a || code === 0x0d) return at;
  }
  return -1;
};

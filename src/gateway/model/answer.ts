/** Headers of an answer. `Headers` is one; `HeaderLines` is the light one of the proxied path. */
export interface AnswerHeaders extends Iterable<[string, string]> {
  /** The value, or all values of a repeated header joined by `, `. */
  get(name: string): string | null;
  has(name: string): boolean;
  set(name: string, value: string): void;
  append(name: string, value: string): void;
  delete(name: string): void;
}

/**
 * An answer on its way to the client. A `Response` is one. What an upstream answers is too, without the cost of being a
 * `Response`: lines as they came, and the body in one piece where it lies ready.
 */
export interface Answer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly body: AnswerBody;
}

export type AnswerBody = Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null;

/** Header lines in order; names are given in lower case. Look-ups walk the list: it is short. */
export class HeaderLines implements AnswerHeaders {
  /** Names and values in turn. */
  readonly flat: string[] = [];

  get(name: string): string | null {
    const { flat } = this;
    let found: string | null = null;
    for (let at = 0; at < flat.length; at += 2) {
      if (flat[at] === name) found = found === null ? (flat[at + 1] as string) : `${found}, ${flat[at + 1]}`;
    }
    return found;
  }

  has(name: string): boolean {
    return this.#find(name, 0) !== -1;
  }

  set(name: string, value: string): void {
    const at = this.#find(name, 0);
    if (at === -1) {
      this.flat.push(name, value);
      return;
    }
    this.flat[at + 1] = value;
    for (let again = this.#find(name, at + 2); again !== -1; again = this.#find(name, again)) this.flat.splice(again, 2);
  }

  append(name: string, value: string): void {
    this.flat.push(name, value);
  }

  delete(name: string): void {
    for (let at = this.#find(name, 0); at !== -1; at = this.#find(name, at)) this.flat.splice(at, 2);
  }

  *[Symbol.iterator](): Generator<[string, string]> {
    for (let at = 0; at < this.flat.length; at += 2) yield [this.flat[at] as string, this.flat[at + 1] as string];
  }

  #find(name: string, from: number): number {
    for (let at = from; at < this.flat.length; at += 2) if (this.flat[at] === name) return at;
    return -1;
  }
}

/** Names and values in turn. */
export const linesOf = (headers: AnswerHeaders): readonly string[] => (headers instanceof HeaderLines ? headers.flat : [...headers].flat());

/** The same as a `Response`, for callers that speak `fetch`. */
export const toResponse = (answer: Answer): Response =>
  answer instanceof Response ? answer : new Response(answer.body, { status: answer.status, headers: [...answer.headers] });

/** Whether it is a stream of events, which leaves frame by frame and lasts as long as its reader stays. */
export const isEventStream = (answer: Pick<Answer, "headers">): boolean =>
  (answer.headers.get("content-type") ?? "").toLowerCase().startsWith("text/event-stream");

/** By status: these answers never have a body, whatever the upstream says. */
export const bodiless: ReadonlySet<number> = new Set([204, 205, 304]);

/** Lets go of a body that nobody will read. */
export const discard = (answer: Answer, reason?: unknown): void => {
  if (answer.body instanceof ReadableStream) answer.body.cancel(reason).catch(() => {});
};

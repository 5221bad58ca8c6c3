/** One request of a conformance set with the answer that is wanted. */
export interface InteropCase {
  /** File it comes from. */
  readonly set: string;
  readonly name: string;
  readonly method: "GET" | "POST" | "PUT";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Without any credential, whatever the run has. */
  readonly anonymous?: true;
  /** Exactly what is sent, with GET too. */
  readonly body: string | undefined;
  readonly expect: Expectation;
}

export interface Expectation {
  /** One of these. */
  readonly status: number | readonly number[];
  /** It may be refused as a message, before anybody reads what it asks: then not even its X-Request-ID comes back. */
  readonly unread?: true;
  /** Headers that the answer must carry: a regular expression for each. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The whole body, member for member; arrays in order. */
  readonly body?: unknown;
  /** The decision alone; a context beside it is not looked at. */
  readonly decision?: boolean;
  /** Decisions of a batch, in order. */
  readonly decisions?: readonly (boolean | "any")[];
  /** `{results}` and nothing else, in any order: the standard orders no search. */
  readonly results?: readonly unknown[];
  /** At least these among the results, whatever else stands there. */
  readonly includes?: readonly unknown[];
  /** With so many results a page: all pages together are `results`, none twice, and only the last has no next token. */
  readonly pagesOf?: number;
  /** Asked so often in a row, it is answered the same; results as a set, and a page's token may be another one. */
  readonly again?: number;
  /** A discovery document of this decision point. */
  readonly discovery?: true;
}

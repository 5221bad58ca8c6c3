/** One request of a conformance set with the answer that is wanted. */
export interface InteropCase {
  /** File it comes from. */
  readonly set: string;
  readonly name: string;
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Exactly what is sent. */
  readonly body: string | undefined;
  readonly expect: Expectation;
}

export interface Expectation {
  readonly status: number;
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
  /** A discovery document of this decision point. */
  readonly discovery?: true;
}

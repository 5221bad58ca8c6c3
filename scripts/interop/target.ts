export interface Target {
  /** Base address of the decision point, without a slash at its end. */
  readonly url: string;
  readonly token: string | undefined;
  /** `body` is that of a GET, which a `Request` cannot hold. */
  readonly send: (request: Request, body?: string) => Promise<Response>;
}

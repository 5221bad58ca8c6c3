/** The error codes of RFC 6749 5.2 and RFC 8693 2.2.2 that our token endpoints answer. */
export type OAuthErrorCode =
  | "invalid_request"
  | "invalid_client"
  | "invalid_grant"
  | "unauthorized_client"
  | "unsupported_grant_type"
  | "invalid_scope"
  | "invalid_target"
  | "temporarily_unavailable"
  | "server_error";

/** A refusal of a token endpoint. The description is shown; it holds no token and no secret. */
export class OAuthError extends Error {
  override readonly name = "OAuthError";
  readonly code: OAuthErrorCode;

  constructor(code: OAuthErrorCode, description: string, cause?: unknown) {
    super(description, cause === undefined ? undefined : { cause });
    this.code = code;
  }

  get status(): number {
    if (this.code === "invalid_client") return 401;
    if (this.code === "temporarily_unavailable") return 503;
    return this.code === "server_error" ? 500 : 400;
  }
}

/** The one value of a form's field, if it has one. Throws `invalid_request` for a field that is given twice. */
export const oneOf = (values: readonly string[], name: string): string | undefined => {
  if (values.length > 1) throw new OAuthError("invalid_request", `${name} is given twice`);
  return values[0];
};

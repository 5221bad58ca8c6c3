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

const statusOf = (code: OAuthErrorCode): number => {
  if (code === "invalid_client") return 401;
  if (code === "temporarily_unavailable") return 503;
  return code === "server_error" ? 500 : 400;
};

/** A refusal of a token endpoint. The description is shown; it holds no token and no secret. */
export class OAuthError extends Error {
  override readonly name = "OAuthError";
  readonly code: OAuthErrorCode;

  constructor(code: OAuthErrorCode, description: string, cause?: unknown) {
    super(description, cause === undefined ? undefined : { cause });
    this.code = code;
  }

  get status(): number {
    return statusOf(this.code);
  }
}

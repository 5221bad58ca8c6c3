/** Who may sign in at the embedded issuer, and which programs it knows. Lists, not a directory: it is for dev and test. */
export interface SignIns {
  readonly persons: readonly Person[];
  readonly agents: readonly AgentSignIn[];
  readonly services: readonly ServiceSignIn[];
  /** Password of the persons, shown on the sign-in page so that a newcomer is not stuck. */
  readonly passwordHint?: string;
}

export interface Person {
  /** Node id of the identity graph; the `sub` of every token. */
  readonly sub: string;
  /** What is typed as name. */
  readonly login: string;
  readonly name: string;
  /** What this person is for, in a few words. */
  readonly role: string;
  readonly tenant: string;
  /** As `isPassword` reads it. */
  readonly passwordHash: string;
  /** Base32 secret of the one-time codes (RFC 6238); without one there is no strong sign-in. */
  readonly totpSecret?: string;
}

export interface AgentSignIn {
  readonly clientId: string;
  /** Node id; the `act.sub` of its tokens. */
  readonly agent: string;
  readonly name: string;
}

export interface ServiceSignIn {
  /** Also the `sub` of its tokens. */
  readonly clientId: string;
  readonly name: string;
  readonly scopes: readonly string[];
}

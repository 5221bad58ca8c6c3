import { isSecret } from "#authn/sealing/client-secret.ts";

/** An agent or a service whose credentials Sallyport itself keeps. */
export interface RegisteredClient {
  /** Its node's id, which is `client_id` and, in its own name, `sub`. */
  readonly clientId: string;
  readonly kind: "agent" | "service";
  readonly tenant: string;
  /** Most that its tokens may carry. */
  readonly scopes: readonly string[];
  /** SHA-256, hex, of the secrets that count now. */
  readonly digests: readonly string[];
}

/** Looks up a client by its id; `undefined`: there is none with a credential that counts, or it is suspended. */
export type FindClient = (clientId: string) => Promise<RegisteredClient | undefined>;

/** Looks at all of them, whichever fits. */
export const provesClient = (client: RegisteredClient | undefined, secret: string): boolean =>
  (client?.digests ?? []).map((digest) => isSecret(digest, secret)).includes(true);

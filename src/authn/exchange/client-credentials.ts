import { z } from "zod";
import { CLIENT_GRANT } from "./own-token.ts";

/** A token is renewed this long before it ends. */
const EARLY_MS = 30_000;
const DEFAULT_LIFE_S = 60;
/** Most that a token endpoint may answer. */
export const MAX_TOKEN_BYTES = 65_536;

/** A token of somebody else's issuer, and until when it is used, in milliseconds. */
export interface ForeignToken {
  readonly token: string;
  readonly until: number;
}

const tokenReply = z.looseObject({
  access_token: z.string().regex(/^[\x21-\x7e]{1,16384}$/),
  token_type: z.string().regex(/^bearer$/i),
  expires_in: z.number().positive().optional(),
});

/** As RFC 6749 2.3.1 wants client id and secret inside Basic. */
const formEncoded = (text: string): string => new URLSearchParams({ v: text }).toString().slice(2);

/** What asks a token endpoint by client credentials (RFC 6749 4.4). */
export const clientCredentialsRequest = (client: { readonly id: string; readonly secret: string; readonly scopes?: readonly string[] }) => {
  const { id, secret, scopes = [] } = client;
  return {
    headers: {
      authorization: `Basic ${Buffer.from(`${formEncoded(id)}:${formEncoded(secret)}`).toString("base64")}`,
      "content-type": "application/x-www-form-urlencoded",
      accept: "application/json",
    },
    body: new URLSearchParams({ grant_type: CLIENT_GRANT, ...(scopes.length === 0 ? {} : { scope: scopes.join(" ") }) }).toString(),
  };
};

/** The token of an answer to what was asked at `askedAt`, milliseconds; `undefined` where there is no bearer token in it. */
export const readForeignToken = (answer: unknown, askedAt: number): ForeignToken | undefined => {
  const read = tokenReply.safeParse(answer).data;
  return read && { token: read.access_token, until: askedAt + (read.expires_in ?? DEFAULT_LIFE_S) * 1000 - EARLY_MS };
};

/** A token that whoever needs it meanwhile asks for once, and that is asked for again when its time is over. */
export const createHeldToken = (now: () => Date) => {
  let held: ForeignToken | undefined;
  let asking: Promise<ForeignToken> | undefined;
  return {
    /** Throws what `ask` throws. */
    token: async (ask: () => Promise<ForeignToken>): Promise<string> => {
      if (held !== undefined && now().getTime() < held.until) return held.token;
      asking ??= ask()
        .then((token) => (held = token))
        .finally(() => (asking = undefined));
      return (await asking).token;
    },
    /** It was not taken: the next one is asked for anew, unless another than this is held by now. */
    drop: (token = held?.token): void => {
      if (held?.token === token) held = undefined;
    },
  };
};

import type { Dispatcher } from "undici";
import type { Invocation } from "#crud/tools/tool.ts";
import type { AuthRules } from "#crud/systems/system-document.ts";
import type { ClientCertificates } from "./client-certificates.ts";
import type { SystemTokens } from "./system-tokens.ts";

/** How a system wants to know Sallyport. */
export interface CredentialRules {
  readonly auth: AuthRules;
  /** Where `auth` wants a token for them. */
  readonly tokens?: SystemTokens;
  /** Where it wants a certificate. */
  readonly certificates?: ClientCertificates;
}

export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly query: readonly (readonly [string, string])[];
  /** Connections that show it. */
  readonly agent?: Dispatcher;
  /** Of a token that was kept: it was not taken, and is not to be used again. */
  readonly drop?: () => void;
}

const bearer = (token: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${token}` });

/** What is shorter is left where it stands alone, as a word that any text may have; with what it is sent in it is taken out all the same. */
const LEAST_ALONE = 4;

/** Has a secret taken out of what comes back, however short it is: at the least in `whole`, as it is sent. */
const hide = ({ conceal }: Pick<Invocation, "conceal">, secret: string, whole: string): void => {
  if (secret.length >= LEAST_ALONE) conceal(secret);
  else conceal(whole);
};

/** What a request carries to be let in; values are read by reference for this call and kept nowhere, but for tokens that `tokens` keeps. */
export const credentialsOf = async ({ auth, tokens, certificates }: CredentialRules, call: Invocation): Promise<Credentials> => {
  const { secret } = call;
  switch (auth.type) {
    case "none":
      return { headers: {}, query: [] };
    case "bearer": {
      const token = await secret(auth.token);
      hide(call, token, `Bearer ${token}`);
      return { headers: bearer(token), query: [] };
    }
    case "api_key": {
      const value = await secret(auth.value);
      hide(call, value, auth.in === "header" ? `${auth.name}: ${value}` : `${auth.name}=${value}`);
      return auth.in === "header" ? { headers: { [auth.name]: value }, query: [] } : { headers: {}, query: [[auth.name, value]] };
    }
    case "basic": {
      const [username, password] = await Promise.all([secret(auth.username), secret(auth.password)]);
      const joined = `${username}:${password}`;
      hide(call, password, joined);
      call.conceal(joined);
      return { headers: { authorization: `Basic ${Buffer.from(joined).toString("base64")}` }, query: [] };
    }
    case "mtls":
      if (certificates === undefined) throw new TypeError("a system with mtls has certificates");
      return { headers: {}, query: [], agent: await certificates.agent(call) };
    case "oauth2_client": {
      if (tokens === undefined) throw new TypeError("a system with oauth2_client has tokens");
      const token = await tokens.token(call);
      call.conceal(token);
      return { headers: bearer(token), query: [], drop: () => tokens.drop(call.caller.tenant, token) };
    }
  }
};

import type { Invocation } from "#crud/mcp/tool.ts";
import type { AuthRules } from "#crud/systems/system-document.ts";
import type { SystemTokens } from "./system-tokens.ts";

export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly query: readonly (readonly [string, string])[];
  /** Of a token that was kept: it was not taken, and is not to be used again. */
  readonly drop?: () => void;
}

const bearer = (token: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${token}` });

/** What a request carries to be let in; values are read by reference for this call and kept nowhere, but for tokens that `tokens` keeps. */
export const credentialsOf = async (auth: AuthRules, call: Invocation, tokens: SystemTokens | undefined): Promise<Credentials> => {
  const { secret } = call;
  switch (auth.type) {
    case "none":
      return { headers: {}, query: [] };
    case "bearer":
      return { headers: bearer(await secret(auth.token)), query: [] };
    case "api_key": {
      const value = await secret(auth.value);
      return auth.in === "header" ? { headers: { [auth.name]: value }, query: [] } : { headers: {}, query: [[auth.name, value]] };
    }
    case "basic": {
      const [username, password] = await Promise.all([secret(auth.username), secret(auth.password)]);
      const joined = `${username}:${password}`;
      call.conceal(joined);
      return { headers: { authorization: `Basic ${Buffer.from(joined).toString("base64")}` }, query: [] };
    }
    case "oauth2_client": {
      if (tokens === undefined) throw new TypeError("a system with oauth2_client has tokens");
      const token = await tokens.token(call);
      call.conceal(token);
      return { headers: bearer(token), query: [], drop: () => tokens.drop(call.caller.tenant, token) };
    }
  }
};

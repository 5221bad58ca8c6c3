import type { AuthRules } from "#crud/systems/system-document.ts";

export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly query: readonly (readonly [string, string])[];
}

/** What a request carries to be let in; values are read by reference for this call and kept nowhere. */
export const credentialsOf = async (auth: AuthRules, secret: (uri: string) => Promise<string>): Promise<Credentials> => {
  switch (auth.type) {
    case "none":
      return { headers: {}, query: [] };
    case "bearer":
      return { headers: { authorization: `Bearer ${await secret(auth.token)}` }, query: [] };
    case "api_key": {
      const value = await secret(auth.value);
      return auth.in === "header" ? { headers: { [auth.name]: value }, query: [] } : { headers: {}, query: [[auth.name, value]] };
    }
    case "basic": {
      const [username, password] = await Promise.all([secret(auth.username), secret(auth.password)]);
      return { headers: { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}` }, query: [] };
    }
  }
};

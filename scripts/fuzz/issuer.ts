import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { CLI_CLIENT } from "#issuer/clients.ts";
import { personScopes } from "#authn/model/scopes.ts";

/** An OpenID provider on loopback whose tokens say whatever the fuzz needs: services' scopes too, which no demo client has all of. */
export interface FuzzIssuer extends AsyncDisposable {
  readonly url: string;
  /** An access token of an hour for that audience, just signed in to: of an administrator, or of a service client. */
  token(audience: string, who: "person" | "service"): Promise<string>;
}

const serviceScopes = ["authzen.pep", "authzen.search", "pip.read", "membership.budget", "membership.read"];

const claimsOf = {
  person: { sub: "person:ada", client_id: CLI_CLIENT, tenant: "tenant:acme", scope: personScopes.join(" ") },
  service: { sub: "service:fuzz", client_id: "service:fuzz", tenant: "*", scope: serviceScopes.join(" ") },
} as const;

export const startFuzzIssuer = async (): Promise<FuzzIssuer> => {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  const keys = [{ ...(await exportJWK(publicKey)), kid: "fuzz", alg: "ES256", use: "sig" }];
  const server = createServer((request, response) => {
    const body = request.url === "/keys" ? { keys } : { issuer: url, jwks_uri: `${url}/keys` };
    response.setHeader("content-type", "application/json").end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    token: (audience, who) =>
      new SignJWT({ ...claimsOf[who], amr: ["mfa"], auth_time: Math.floor(Date.now() / 1000), jti: crypto.randomUUID() })
        .setProtectedHeader({ alg: "ES256", typ: "at+jwt", kid: "fuzz" })
        .setIssuer(url)
        .setAudience(audience)
        .setIssuedAt()
        .setExpirationTime("1h")
        .sign(privateKey),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

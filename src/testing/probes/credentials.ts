import type * as topic from "#contract/credentials.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  createCredential: {
    about: [{ body: { client_id: "{id}", scopes: ["mcp.tools.invoke"], reason: "looking around" } }],
    attempts: [{ body: { client_id: "agent:other" } }, { body: { client_id: "service:scim:tenant:acme", scopes: ["membership.write"] } }],
  },
  dropCredential: {
    about: [{ params: { credential_id: "{id}" }, query: { reason: "looking" } }],
    attempts: [{ params: { credential_id: "{credential}" }, query: { reason: "please" } }],
  },
  listCredentials: { about: [{ query: { client_id: "{id}" } }] },
  rotateCredential: {
    about: [{ params: { credential_id: "{id}" }, body: { reason: "looking around" } }],
    attempts: [{ params: { credential_id: "{credential}" }, body: {} }],
  },
};

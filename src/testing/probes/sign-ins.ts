import type * as topic from "#contract/sign-ins.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  addIdentityLink: {
    about: [{ body: { issuer: "https://issuer.example", subject: "somebody", person_id: "{id}", reason: "looking around" } }],
    attempts: [{ body: { issuer: "https://idp.example", subject: "ben-2", person_id: "{ada}", reason: "please" } }],
  },
  dropIdentityLink: {
    about: [{ params: { link_id: "{id}" }, query: { reason: "looking" } }],
    attempts: [{ params: { link_id: "{link}" }, query: { reason: "please" } }],
  },
  listIdentityLinks: { about: [{ query: { person_id: "{id}" } }, { query: { subject: "{id}" } }] },
  settleSignIn: {
    about: [{ body: { issuer: "https://issuer.example", subject: "{id}" } }],
    attempts: [{ body: { issuer: "https://idp.example", subject: "ben-2" }, reported: "insufficient_scope" }],
  },
};

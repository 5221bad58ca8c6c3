import assert from "node:assert/strict";
import { test } from "node:test";
import { actorKindOf, type ActorKind } from "./actor-kind.ts";

const kinds: readonly (readonly [what: string, who: Parameters<typeof actorKindOf>[0], kind: ActorKind])[] = [
  ["a person of Sallyport's form", { sub: "person:ben" }, "person"],
  ["a person whose id has no form", { sub: "00u1a2b3", clientId: "sallyport-web" }, "person"],
  ["a person with an account's id", { sub: "account:ben@acme" }, "person"],
  ["an agent for a person", { sub: "00u1a2b3", agent: "agent:hr", clientId: "agent:hr" }, "agent"],
  ["an agent in its own name", { sub: "agent:hr", clientId: "agent:hr" }, "agent"],
  ["a client that is known for an agent's", { sub: "hr-bot", agent: "hr-bot", clientId: "hr-bot" }, "agent"],
  ["a service of Sallyport", { sub: "service:crud", clientId: "service:crud" }, "service"],
  ["a service of which only the name was kept", { sub: "service:shop" }, "service"],
  ["a client that asks in its own name", { sub: "ci-runner", clientId: "ci-runner" }, "service"],
];
for (const [what, who, kind] of kinds) test(`${what} acts as ${kind}`, () => assert.equal(actorKindOf(who), kind));

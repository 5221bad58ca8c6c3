import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { EvaluationReply } from "#contract/authzen.ts";
import type { PolicyReport } from "#contract/policies.ts";
import type { MatrixDifference, Rollout } from "#contract/rollouts.ts";
import { policyFolder } from "./decision-matrix.ts";
import type { PdpWorld } from "./pdp.ts";

/** Text of one of the policy files, shipped or the demo world's. */
export const policyText = (name: string): string => readFileSync(join(policyFolder, name), "utf8");

/** A draft that opens the page `operations` to analysts, with the case that says they have to ask for it changed. */
export const opensOperations: Readonly<Record<string, string>> = {
  "policies/pages.cedar": `${policyText("pages.cedar")}
@id("operations-for-analysts")
@description("Analysts see the operations page")
permit (principal in Group::"group:analysts", action == Action::"pages:view", resource == Page::"operations");
`,
  "policies/cases/analysts.yaml": policyText("cases/analysts.yaml").replace("group:analysts", "group:people-ops"),
};

/** Takes the right to activate policies from everybody. */
export const locksOut = policyText("administration.cedar").replace('[Action::"deployment_act",', "[");

export const readJson = async <T>(response: Response, status = 200): Promise<T> => {
  const text = await response.text();
  assert.equal(response.status, status, text);
  return JSON.parse(text) as T;
};

const POLICIES = "/access/v1/policies";

/** The administration of policies as ada uses it. */
export const administer = (world: Pick<PdpWorld, "ask" | "personToken">) => {
  const call = async (path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
    world.ask(`${POLICIES}${path}`, await world.personToken("ada", { acr: "strong" }), body, headers);
  const version = (name: string): string => `/rollouts/${encodeURIComponent(name)}`;
  return {
    call,
    version,
    draft: async (files: Readonly<Record<string, string | null>>, message = "Try something") =>
      readJson<{ rollout: Rollout; report: PolicyReport }>(await call("/rollouts", { files, message }), 201),
    matrix: async (name: string) => readJson<MatrixDifference>(await call(`${version(name)}/matrix`)),
    shadow: async (name: string) => readJson<Rollout>(await call(`${version(name)}/promote`, { to: "shadow" })),
    activate: async (name: string): Promise<Rollout> => {
      const { digest } = await readJson<MatrixDifference>(await call(`${version(name)}/matrix`));
      return readJson(await call(`${version(name)}/promote`, { to: "active", acknowledged_diff: digest }));
    },
    rollBack: async (name = "last") => readJson<Rollout>(await call(`/rollouts/${encodeURIComponent(name)}/rollback`, {})),
  };
};

/** What the decision point answers a service of Sallyport that asks for a person. */
export const askFor = async (world: PdpWorld, login: string, type: string, action: string, id = "*"): Promise<EvaluationReply> => {
  const tenant = login === "eve" ? "tenant:globex" : "tenant:acme";
  const body = {
    subject: { type: "identity", id: `person:${login}`, properties: { tenant } },
    action: { name: action },
    resource: { type, id },
  };
  return readJson(await world.ask("/access/v1/evaluation", await world.serviceToken(), body));
};

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { WrkRequest } from "../kit/wrk.ts";

const GROUPS = 20;
const USERS = 200;
const DEPARTMENTS = 5;
/** Actions of one resource type; the first half only looks, so that its records may follow the answer. */
const ACTIONS = 10;

export type Kind = "view" | "act";

const actionName = (index: number): string => (index < ACTIONS / 2 ? `view_${index}` : `act_${index}`);
const typeName = (rule: number): string => `thing${Math.floor(rule / ACTIONS)}`;
const groupOf = (rule: number): string => `g${rule % GROUPS}`;
const departmentOf = (rule: number): string => `d${rule % DEPARTMENTS}`;
const groupsOfUser = (user: number): readonly string[] => [0, 7, 13].map((step) => `g${(user + step) % GROUPS}`);

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_none, index) => index);

/** One rule an action: members of one group, for things of one department. The same rules in both languages. */
export const writeRules = async (folder: string, count: number): Promise<{ readonly instance: string; readonly cerbos: string }> => {
  const instance = join(folder, `instance-${count}`);
  const cerbos = join(folder, `cerbos-${count}`);
  await mkdir(join(instance, "policies"), { recursive: true });
  await mkdir(cerbos, { recursive: true });
  const types = numbers(Math.ceil(count / ACTIONS));
  const schema = [
    "entity Group;",
    "entity User in [Group];",
    ...types.map((type) => `entity Thing${type};`),
    ...numbers(count).map(
      (rule) =>
        `action "${typeName(rule)}:${actionName(rule % ACTIONS)}" appliesTo { principal: [User], resource: [Thing${Math.floor(rule / ACTIONS)}], context: { props?: { department?: String } } };`,
    ),
  ];
  await writeFile(join(instance, "policies", "schema.cedarschema"), schema.join("\n"));
  const cedar = numbers(count).map(
    (rule) => `@id("rule-${rule}")
@description("Members of one group, things of one department")
permit (principal in Group::"${groupOf(rule)}", action == Action::"${typeName(rule)}:${actionName(rule % ACTIONS)}", resource)
when { context has props && context.props has department && context.props.department == "${departmentOf(rule)}" };`,
  );
  await writeFile(join(instance, "policies", "rules.cedar"), cedar.join("\n\n"));
  const subjects = numbers(USERS).map((user) => ({ id: `u${user}`, types: ["user"], kind: "User", groups: groupsOfUser(user) }));
  await writeFile(join(instance, "facts.yaml"), JSON.stringify({ tenant: "tenant:interop", subjects, resources: [] }));
  const switches = {
    decision_point: { kind: "cedar" },
    policy_dir: "policies",
    facts: { kind: "file", path: "facts.yaml" },
    answer_detail: "none",
  };
  await writeFile(join(instance, "pdp.yaml"), JSON.stringify(switches));
  for (const type of types) {
    const rules = numbers(count)
      .filter((rule) => Math.floor(rule / ACTIONS) === type)
      .map((rule) => ({
        actions: [actionName(rule % ACTIONS)],
        effect: "EFFECT_ALLOW",
        roles: [groupOf(rule)],
        condition: { match: { expr: `R.attr.department == "${departmentOf(rule)}"` } },
      }));
    const policy = { apiVersion: "api.cerbos.dev/v1", resourcePolicy: { resource: `thing${type}`, version: "default", rules } };
    await writeFile(join(cerbos, `thing${type}.yaml`), JSON.stringify(policy));
  }
  return { instance, cerbos };
};

/** The `number`th question about so many rules, unlike every other; both sides get the same bytes. */
export const question = (number: number, count: number, kind: Kind, run: string) => {
  const half = ACTIONS / 2;
  const rule = (Math.floor(number / half) * ACTIONS + (number % half) + (kind === "view" ? 0 : half)) % count;
  // As on a page: nine of ten are permitted.
  const user = (rule % GROUPS) + GROUPS * (number % (USERS / GROUPS));
  const department = number % 10 === 9 ? "none" : departmentOf(rule);
  return {
    subject: { type: "user", id: `u${user}`, properties: { "cerbos.roles": groupsOfUser(user) } },
    action: { name: actionName(rule % ACTIONS) },
    resource: { type: typeName(rule), id: `${run}-${number}`, properties: { department } },
  };
};

/** Requests with single questions, or with batches of them. */
export const requestsOf = (
  token: string,
  about: { readonly requests: number; readonly batch: number; readonly rules: number; readonly kind: Kind; readonly run: string },
): readonly WrkRequest[] => {
  const headers = { "Content-Type": "application/json", Authorization: `Bearer ${token}` };
  return numbers(about.requests).map((request) => {
    const asked = numbers(about.batch).map((item) => question(request * about.batch + item, about.rules, about.kind, about.run));
    return about.batch === 1
      ? { method: "POST", path: "/access/v1/evaluation", headers, body: JSON.stringify(asked[0]) }
      : { method: "POST", path: "/access/v1/evaluations", headers, body: JSON.stringify({ evaluations: asked }) };
  });
};

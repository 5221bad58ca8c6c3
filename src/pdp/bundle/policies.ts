import { policySetTextToParts, policyToJson, type PolicyJson } from "@cedar-policy/cedar-wasm/nodejs";
import type { Fault } from "#contract/problem.ts";
import { readsOf, type Reads } from "./expression.ts";
import type { PolicyFiles } from "./policy-files.ts";
import { lineOf } from "./schema.ts";

/** One policy of a bundle. */
export interface Policy {
  readonly id: string;
  readonly description: string;
  readonly effect: "permit" | "forbid";
  readonly text: string;
  /** As explanations name it, e.g. `policies/pages.cedar`. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly obligations: readonly string[];
  /** What a denial by this forbid is called; `forbidden` unless it says so itself. */
  readonly reason?: string;
  /** Template of the request that may lift a denial. */
  readonly requestable?: string;
  readonly reads: Reads;
  readonly json: PolicyJson;
}

const known: ReadonlySet<string> = new Set(["id", "description", "obligation", "requestable", "reason"]);

const names = (text: string | undefined): readonly string[] => (text === undefined ? [] : text.split(",").map((name) => name.trim()));

/** Every policy of the `.cedar` files, in order of file and line. Faults: what does not parse, what lacks its annotations. */
export const readPolicies = (files: PolicyFiles, faults: Fault[]): readonly Policy[] => {
  const policies: Policy[] = [];
  for (const [name, text] of Object.entries(files)) {
    if (!name.endsWith(".cedar")) continue;
    const file = `policies/${name}`;
    const parts = policySetTextToParts(text);
    if (parts.type === "failure") {
      for (const error of parts.errors)
        faults.push({ path: file, file, message: error.message, ...lineOf(text, error.sourceLocations?.[0]?.start) });
      continue;
    }
    if (parts.policy_templates.length > 0)
      faults.push({ path: file, file, message: "holds a policy with a slot (?principal, ?resource), which nothing links" });
    let from = 0;
    for (const part of inOrder(text, parts.policies)) {
      from = text.indexOf(part, from);
      const policy = readPolicy(part, file, text.slice(0, from).split("\n").length, faults);
      from += part.length;
      if (policy !== undefined) policies.push(policy);
    }
  }
  return policies;
};

/** The parser gives them in an order of its own; equal texts keep theirs. */
const inOrder = (text: string, parts: readonly string[]): readonly string[] => parts.toSorted((a, b) => text.indexOf(a) - text.indexOf(b));

const readPolicy = (text: string, file: string, line: number, faults: Fault[]): Policy | undefined => {
  const read = policyToJson(text);
  const before = faults.length;
  const fault = (message: string): void => void faults.push({ path: file, file, line, message });
  if (read.type === "failure") {
    fault(read.errors.map((error) => error.message).join("; "));
    return undefined;
  }
  const { annotations = {}, effect } = read.json;
  const id = annotations["id"];
  const description = annotations["description"];
  if (id === undefined || !/^[a-z][a-z0-9-]{0,63}$/.test(id)) fault("needs @id, of a-z, 0-9 and -");
  if (description === undefined || description === "") fault("needs @description");
  for (const name of Object.keys(annotations)) if (!known.has(name)) fault(`has the unknown annotation @${name}`);
  let reads: Reads | undefined;
  try {
    reads = readsOf(read.json);
  } catch (error) {
    fault((error as Error).message);
  }
  if (faults.length > before || id === undefined || description === undefined || reads === undefined) return undefined;
  return {
    id,
    description,
    effect,
    text,
    file,
    line,
    obligations: names(annotations["obligation"]),
    ...(annotations["reason"] === undefined ? {} : { reason: annotations["reason"] }),
    ...(annotations["requestable"] === undefined ? {} : { requestable: annotations["requestable"] }),
    reads,
    json: read.json,
  };
};

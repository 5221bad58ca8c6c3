import { createHash } from "node:crypto";
import type { BodyOf, ReplyOf } from "#contract/endpoint.ts";
import type { bulkSecrets } from "#contract/secret-acts.ts";
import { Problem } from "#contract/problem.ts";
import type { Caller } from "#authn/caller.ts";
import type { SealedCursors } from "#authn/sealed-cursors.ts";
import { asProblem } from "#http/problem-body.ts";
import { removeAct, rotateAct, settleAct, writeAct, type Act } from "./acts.ts";
import type { Corridor } from "./perform.ts";
import type { SecretProvider } from "./providers/secret-provider.ts";
import { formatPrefix } from "./secret-uri.ts";
import { SecretValue, wireOf } from "./secret-value.ts";
import type { SecretRef } from "./tenant-guard.ts";
import type { SchemeTable } from "./uri-schemes.ts";

type Body = BodyOf<typeof bulkSecrets>;
type Reply = ReplyOf<typeof bulkSecrets>;
type Item = Body["operations"][number];

/** What an item did, and the version it made. */
interface Done {
  readonly created?: boolean;
  readonly version?: number;
}

const actOf = (schemes: SchemeTable, item: Item): Act<Done> => {
  const answering = <R>(act: Act<R>, done: (result: R) => Done = () => ({})): Act<Done> => ({
    ...act,
    act: async (...at) => done(await act.act(...at)),
  });
  switch (item.op) {
    case "set":
      return writeAct(schemes, item);
    case "rotate":
      return rotateAct(schemes, item);
    case "delete":
      return answering(removeAct(schemes, item, item.destroy === true));
    case "destroy":
      return item.versions === undefined ? answering(removeAct(schemes, item, true)) : answering(settleAct(schemes, item, "destroy"));
    case "undelete":
      return answering(settleAct(schemes, item, "undelete"));
  }
};

const decisionOf = (problem: Problem): { decision_id?: string } => {
  const id = problem.options.members?.["decision_id"];
  return typeof id === "string" ? { decision_id: id } : {};
};

interface BulkParts {
  readonly perform: Corridor;
  readonly schemes: SchemeTable;
  readonly plans: SealedCursors<string>;
}
interface Who {
  readonly caller: Caller;
  readonly headers: Headers;
  readonly correlationId: string;
}

const askOf = (parts: BulkParts, item: Item, index: number, who: Who) => ({
  ...actOf(parts.schemes, item),
  ...who,
  argument: `operations[${index}].uri`,
});

/** How the secret of an operation stands: its versions, or what the file holds. It leaves the service under a seal alone. */
const standingOf = async (provider: SecretProvider, ref: SecretRef): Promise<{ readonly mark: string; readonly version?: number }> => {
  const whole = { ...ref, key: undefined, version: undefined, id: formatPrefix(ref) };
  try {
    if (!provider.can.has("versions")) return { mark: JSON.stringify(wireOf(SecretValue.reveal((await provider.read(whole)).value))) };
    const { versions, current_version: version } = await provider.describe(whole);
    return { mark: versions.map((one) => `${one.version} ${one.created_time} ${one.state}`).join(), version };
  } catch (error) {
    if (asProblem(error).status !== 404) throw error;
    return { mark: "none", ...(provider.can.has("versions") ? { version: 0 } : {}) };
  }
};

interface Looked {
  readonly marks: readonly string[];
  readonly results: Reply["results"];
  /** Newest version by place, of stores that keep some. */
  readonly versions: Map<string, number>;
}

/** Decides each and does none. */
const lookAtAll = async (parts: BulkParts, body: Body, who: Who): Promise<Looked> => {
  const looked: Looked = { marks: [], results: [], versions: new Map() };
  const marks: string[] = [];
  for (const [index, item] of body.operations.entries()) {
    let uri: { uri?: string } = {};
    try {
      const ask = askOf(parts, item, index, who);
      uri = { uri: ask.uri.canonical };
      const { decisionId, provider, ref } = await parts.perform.look(ask);
      const { mark, version } = await standingOf(provider, ref);
      if (version !== undefined) looked.versions.set(formatPrefix(ref), version);
      marks.push(mark);
      looked.results.push({ index, op: item.op, ...uri, status: 200, version, decision_id: decisionId });
    } catch (error) {
      const problem = asProblem(error);
      marks.push(problem.code);
      looked.results.push({ index, op: item.op, ...uri, status: problem.status, code: problem.code, ...decisionOf(problem) });
    }
  }
  return { ...looked, marks };
};

/** What a plan holds of how things stand, and what it is bound to. */
const digestOf = ({ marks }: Looked): string => createHash("sha256").update(JSON.stringify(marks)).digest("base64url");
const boundOf = ({ operations }: Body, { caller }: Who) => [caller.tenant, caller.sub, caller.agent, operations];

const replyOf = (results: Reply["results"], of: Body): Reply => {
  const ok = results.filter(({ status }) => status < 300).length;
  return { results, summary: { ok, failed: results.length - ok, skipped: of.operations.length - results.length } };
};

/**
 * One operation after the other, each as if it came alone; a dry run decides each, does none, and answers a plan. With that plan all
 * of it is done only if everything stands as it stood; what is written meanwhile makes the operation fail that it meets. Throws
 * `plan_stale` (409).
 */
export const performBulk = async (parts: BulkParts, body: Body, who: Who): Promise<Reply> => {
  let versions = new Map<string, number>();
  if (body.dry_run === true) {
    const looked = await lookAtAll(parts, body, who);
    return { ...replyOf(looked.results, body), plan: parts.plans.seal(digestOf(looked), boundOf(body, who)) };
  }
  if (body.plan !== undefined) {
    const planned = parts.plans.open(body.plan, boundOf(body, who));
    const looked = await lookAtAll(parts, body, who);
    if (digestOf(looked) !== planned) throw new Problem("plan_stale");
    ({ versions } = looked);
  }
  const results: Reply["results"] = [];
  for (const [index, item] of body.operations.entries()) {
    let uri: { uri?: string } = {};
    try {
      const plain = askOf(parts, item, index, who);
      uri = { uri: plain.uri.canonical };
      const place = formatPrefix(plain.uri);
      const cas = item.cas ?? versions.get(place);
      // Of several operations on one secret the first stands on what was planned, the others on it.
      versions.delete(place);
      const { result, decisionId } = await parts.perform(cas === undefined ? plain : askOf(parts, { ...item, cas }, index, who));
      results.push({
        index,
        op: item.op,
        ...uri,
        status: result.created === true ? 201 : 200,
        version: result.version,
        decision_id: decisionId,
      });
    } catch (error) {
      const problem = asProblem(error);
      results.push({ index, op: item.op, ...uri, status: problem.status, code: problem.code, ...decisionOf(problem) });
      if (body.continueOnError === false) break;
    }
  }
  return replyOf(results, body);
};

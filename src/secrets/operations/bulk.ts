import { createHash } from "node:crypto";
import type { BodyOf, ReplyOf } from "#contract/endpoint.ts";
import type { bulkSecrets } from "#contract/secret-acts.ts";
import { Problem } from "#contract/problem.ts";
import type { SealedCursors } from "#authn/sealing/sealed-cursors.ts";
import { asProblem } from "#http/problem-body.ts";
import { createBases, type Bases } from "./bulk-bases.ts";
import { removeAct, rotateAct, settleAct, writeAct, type Act } from "./acts.ts";
import { decisionOf, type OperationPipeline, type Who } from "#secrets/pipeline/pipeline.ts";
import type { RemovedSecret, SecretProvider } from "#secrets/providers/secret-provider.ts";
import { formatPrefix, parseSecretUri } from "#secrets/model/secret-uri.ts";
import { markOf, SecretValue } from "#secrets/model/secret-value.ts";
import type { SecretRef } from "#secrets/model/tenant-guard.ts";
import type { SchemeTable } from "#secrets/model/uri-schemes.ts";

type Body = BodyOf<typeof bulkSecrets>;
type Reply = ReplyOf<typeof bulkSecrets>;
type Item = Body["operations"][number];

/** What an item did, and the version it made. */
interface Done extends Pick<RemovedSecret, "made" | "stands"> {
  readonly created?: boolean;
  readonly version?: number;
}

/** The contract's item names the version that it restores or destroys in its URI. */
const withVersions = (schemes: SchemeTable, item: Item): Item => {
  if ((item.op !== "undelete" && item.op !== "destroy") || item.versions !== undefined) return item;
  const { id, version } = parseSecretUri(item.uri, schemes);
  return version === undefined ? item : { ...item, uri: id, versions: [version] };
};

const actOf = (schemes: SchemeTable, asked: Item): Act<Done> => {
  const item = withVersions(schemes, asked);
  const answering = <R>(act: Act<R>, done: (result: R) => Done): Act<Done> => ({
    ...act,
    act: async (...at) => done(await act.act(...at)),
  });
  const removing = (hard: boolean) => answering(removeAct(schemes, item, hard), ({ made, stands }) => ({ made, stands }));
  const settling = (how: "destroy" | "undelete") => answering(settleAct(schemes, item, how), () => ({}));
  switch (item.op) {
    case "set":
      return writeAct(schemes, item);
    case "rotate":
      return rotateAct(schemes, item);
    case "delete":
      return removing(item.destroy === true);
    case "destroy":
      return item.versions === undefined ? removing(true) : settling("destroy");
    case "undelete":
      return settling("undelete");
  }
};

interface BulkParts {
  readonly perform: OperationPipeline;
  readonly schemes: SchemeTable;
  readonly plans: SealedCursors<string>;
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
    if (!provider.can.has("versions")) return { mark: markOf(SecretValue.reveal((await provider.read(whole)).value)) };
    const { versions, current_version: version } = await provider.describe(whole);
    return { mark: versions.map((one) => `${one.version} ${one.created_time} ${one.state}`).join(), version };
  } catch (error) {
    if (asProblem(error).status !== 404) throw error;
    return { mark: markOf(undefined), ...(provider.can.has("versions") ? { version: 0 } : {}) };
  }
};

type Result = Reply["results"][number];

/** One operation after the other, each with its own result, until one fails after which nothing follows. */
const inOrder = async (
  parts: BulkParts,
  body: Body,
  who: Who,
  work: (ask: ReturnType<typeof askOf>) => Promise<Pick<Result, "status" | "version" | "changed" | "decision_id">>,
  goesOn = true,
): Promise<Result[]> => {
  const results: Result[] = [];
  for (const [index, item] of body.operations.entries()) {
    const result: Omit<Result, "status"> = { index, op: item.op };
    try {
      // A URI that is none is not answered: it may hold a pasted secret.
      result.uri = parseSecretUri(item.uri, parts.schemes).canonical;
      const ask = askOf(parts, item, index, who);
      results.push({ ...result, ...(await work(ask)) });
    } catch (error) {
      const problem = asProblem(error);
      results.push({ ...result, status: problem.status, code: problem.code, decision_id: decisionOf(problem) });
      if (!goesOn) break;
    }
  }
  return results;
};

interface Looked {
  /** How what each is about stands, or why it is refused. */
  readonly marks: readonly string[];
  readonly results: Result[];
  readonly bases: Bases;
}

/** Decides each and does none. */
const lookAtAll = async (parts: BulkParts, body: Body, who: Who): Promise<Looked> => {
  const bases = createBases();
  const standing: string[] = [];
  const results = await inOrder(parts, body, who, async (ask) => {
    const { decisionId, provider, ref } = await parts.perform.look(ask);
    const { mark, version } = await standingOf(provider, ref);
    bases.looked(ref, version ?? mark);
    standing.push(mark);
    return { status: 200, version, decision_id: decisionId };
  });
  // A refusal has its code, and those that are not refused stand as they were looked at, one after the other.
  return { marks: results.map(({ code }) => code ?? standing.shift() ?? ""), results, bases };
};

/** What a plan holds of how things stand, and what it is bound to. */
const digestOf = ({ marks }: Looked): string => createHash("sha256").update(JSON.stringify(marks)).digest("base64url");
const boundOf = ({ operations }: Body, { caller }: Who) => [caller.tenant, caller.sub, caller.agent, operations];

const replyOf = (results: Result[], of: Body): Reply => {
  const ok = results.filter(({ status }) => status < 300).length;
  return { results, summary: { ok, failed: results.length - ok, skipped: of.operations.length - results.length } };
};

/**
 * One operation after the other, each as if it came alone; a dry run decides each, does none, and answers a plan. With that plan all
 * of it is done only if everything stands as it stood; what is written meanwhile makes each operation fail that it meets. Throws
 * `plan_stale` (409).
 */
export const performBulk = async (parts: BulkParts, body: Body, who: Who): Promise<Reply> => {
  let bases = createBases();
  if (body.dry_run === true) {
    const looked = await lookAtAll(parts, body, who);
    return { ...replyOf(looked.results, body), plan: parts.plans.seal(digestOf(looked), boundOf(body, who)) };
  }
  if (body.plan !== undefined) {
    const planned = parts.plans.open(body.plan, boundOf(body, who));
    const looked = await lookAtAll(parts, body, who);
    if (digestOf(looked) !== planned) throw new Problem("plan_stale");
    ({ bases } = looked);
  }
  const perform = async (ask: ReturnType<typeof askOf>) => {
    const { cas, stands } = bases.of(ask.uri);
    const { result, isDone, decisionId } = await parts.perform({ ...ask, cas: ask.cas ?? cas, stands });
    bases.left(ask.uri, result);
    return { status: result.created === true ? 201 : 200, version: result.version, changed: isDone, decision_id: decisionId };
  };
  return replyOf(await inOrder(parts, body, who, perform, body.continueOnError !== false), body);
};

/** Each operation that was done is decided anew, and none is done. Throws the first refusal. */
export const passBulkAgain = async (parts: BulkParts, body: Body, { results }: Reply, who: Who): Promise<void> => {
  for (const { index, status } of results) {
    const item = body.operations[index];
    if (status < 300 && item !== undefined) await parts.perform.look(askOf(parts, item, index, who));
  }
};

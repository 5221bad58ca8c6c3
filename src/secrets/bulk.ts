import type { BodyOf, ReplyOf } from "#contract/endpoint.ts";
import type { bulkSecrets } from "#contract/secret-acts.ts";
import type { Problem } from "#contract/problem.ts";
import type { Caller } from "#authn/caller.ts";
import { asProblem } from "#http/problem-body.ts";
import { removeAct, rotateAct, settleAct, writeAct, type Act } from "./acts.ts";
import type { Corridor } from "./perform.ts";
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
      return answering(removeAct(schemes, item.uri, item.destroy === true));
    case "destroy":
      return item.versions === undefined ? answering(removeAct(schemes, item.uri, true)) : answering(settleAct(schemes, item, "destroy"));
    case "undelete":
      return answering(settleAct(schemes, item, "undelete"));
  }
};

const decisionOf = (problem: Problem): { decision_id?: string } => {
  const id = problem.options.members?.["decision_id"];
  return typeof id === "string" ? { decision_id: id } : {};
};

/** One operation after the other, each as if it came alone; a dry run decides each and does none. */
export const performBulk = async (
  parts: { readonly perform: Corridor; readonly schemes: SchemeTable },
  body: Body,
  who: { readonly caller: Caller; readonly headers: Headers; readonly correlationId: string },
): Promise<Reply> => {
  const results: Reply["results"] = [];
  for (const [index, item] of body.operations.entries()) {
    let uri: { uri?: string } = {};
    try {
      const act = actOf(parts.schemes, item);
      uri = { uri: act.uri.canonical };
      const ask = { ...act, ...who, argument: `operations[${index}].uri` };
      if (body.dry_run === true) {
        const { decisionId } = await parts.perform.look(ask);
        results.push({ index, op: item.op, ...uri, status: 200, decision_id: decisionId });
        continue;
      }
      const { result, decisionId } = await parts.perform(ask);
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
  const ok = results.filter(({ status }) => status < 300).length;
  return { results, summary: { ok, failed: results.length - ok, skipped: body.operations.length - results.length } };
};

import type { z } from "zod";
import { changeGraph } from "#contract/graph-edit.ts";
import { Problem } from "#contract/problem.ts";
import { answer } from "#http/serve.ts";
import { findAnswer, requireKeyedCall, saveAnswer, type KeyedAnswer } from "#membership/idempotency.ts";
import { OnlyTried } from "#membership/only-tried.ts";
import type { MembershipRoom } from "#membership/room.ts";
import { applyEdit } from "./edits.ts";
import { writeAs } from "./write-as.ts";

type Reply = z.output<typeof changeGraph.reply>;

const rowOf = { put_node: "/node", drop_node: "", put_edge: "/edge", drop_edge: "/edge" } as const;

/** The same refusal, saying in which of the changes it stands. */
const atChange = (error: unknown, index: number, op: keyof typeof rowOf): unknown => {
  if (!(error instanceof Problem)) return error;
  const { errors, detail, ...options } = error.options;
  const place = `/changes/${index}${rowOf[op]}`;
  const placed = errors?.map((fault) => ({ ...fault, path: `${place}${fault.path === "/" ? "" : fault.path}` }));
  return new Problem(error.code, {
    ...options,
    detail,
    errors: placed ?? [{ path: place, message: detail ?? error.title }],
  });
};

/** Many writes in their order as one version: all of them, or nothing. */
export const serveGraphChanges = (room: MembershipRoom): void =>
  room.router.serve(changeGraph, async ({ caller, body, request, correlationId }) => {
    const key = requireKeyedCall(request, caller, body);
    const act = {
      caller,
      correlationId,
      pair: ["graph", "edit"],
      op: "graph_changes",
      about: { type: "graph" },
      reason: body.reason,
    } as const;
    let kept: KeyedAnswer | undefined;
    try {
      await writeAs(room, act, async (tx, scope) => {
        kept = body.dry_run ? undefined : await findAnswer(tx.sql, key);
        if (kept !== undefined) return { value: undefined, entries: () => [] };
        let written = 0;
        for (const [index, edit] of body.changes.entries()) {
          const outcome = await applyEdit(tx, scope, edit).catch((error: unknown) => {
            throw atChange(error, index, edit.op);
          });
          if (outcome !== "same") written += 1;
        }
        if (body.dry_run) {
          await tx.requireRoles();
          throw new OnlyTried(written);
        }
        return {
          value: undefined,
          finish: async (version) => {
            const reply: Reply = { graph_version: Number(version), written, dry_run: false };
            kept = { status: 200, headers: { "x-graph-version": String(version) }, body: reply };
            await saveAnswer(tx.sql, key, kept);
          },
        };
      });
    } catch (error) {
      if (!(error instanceof OnlyTried)) throw error;
      const { version } = await room.reader.version();
      return { graph_version: Number(version), written: error.outcome as number, dry_run: true };
    }
    if (kept === undefined) throw new Error("a write that ended has an answer");
    return answer(kept.body as Reply, { headers: kept.headers });
  });

import type { z } from "zod";
import { changeGraph } from "#contract/graph-edit.ts";
import { Problem } from "#contract/problem.ts";
import { requireKeyedCall } from "#membership/context/idempotency.ts";
import type { MembershipContext } from "#membership/context/context.ts";
import { applyEdit } from "./edits.ts";
import { actOn } from "./write-as.ts";
import { writeOnce } from "./write-once.ts";

type Reply = z.output<typeof changeGraph.reply>;

const rowOf = { put_node: "/node", drop_node: "", put_edge: "/edge", drop_edge: "/edge" } as const;

/** The same refusal, saying in which of the changes it stands. */
const atChange = (error: unknown, index: number, op: keyof typeof rowOf): unknown => {
  if (!(error instanceof Problem)) return error;
  const { errors, detail, ...options } = error.options;
  const place = `/changes/${index}${rowOf[op]}`;
  const placed = errors?.map((issue) => ({ ...issue, path: `${place}${issue.path === "/" ? "" : issue.path}` }));
  return new Problem(error.code, {
    ...options,
    detail,
    errors: placed ?? [{ path: place, message: detail ?? error.title }],
  });
};

/** Many writes in their order as one version: all of them, or nothing. */
export const serveGraphChanges = (context: MembershipContext): void =>
  context.router.serve(changeGraph, async ({ caller, body, request, correlationId }) => {
    const key = requireKeyedCall(request, caller, body);
    const act = actOn(["graph", "edit"], "graph")({ caller, correlationId }, "graph_changes", undefined, body.reason);
    return writeOnce(
      context,
      act,
      { key, isTried: body.dry_run },
      async (tx, scope) => {
        let written = 0;
        for (const [index, edit] of body.changes.entries()) {
          const outcome = await applyEdit(tx, scope, edit).catch((error: unknown) => {
            throw atChange(error, index, edit.op);
          });
          if (outcome !== "same") written += 1;
        }
        return written;
      },
      (written, version): Reply => ({ graph_version: Number(version), written, dry_run: body.dry_run }),
    );
  });

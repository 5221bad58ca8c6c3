import {
  bulkSecrets,
  copySecret,
  deleteSecret,
  destroySecretVersions,
  moveSecret,
  rotateSecret,
  secretOwner,
  setSecretOwner,
  undeleteSecret,
} from "#contract/secret-acts.ts";
import type { Endpoint, ReplyOf } from "#contract/endpoint.ts";
import { Problem } from "#contract/problem.ts";
import { writeSecret } from "#contract/secrets.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { SealedCursors } from "#authn/sealing/sealed-cursors.ts";
import { answer, type Handler, type Router } from "#http/serve.ts";
import { removeAct, rotateAct, settleAct, writeAct } from "#secrets/operations/acts.ts";
import { passBulkAgain, performBulk } from "#secrets/operations/bulk.ts";
import type { KeyedAnswers } from "#secrets/operations/keyed-answers.ts";
import { copySecretTo, lookAtCarry } from "#secrets/operations/copy.ts";
import { lookAtMove, moveSecretTo } from "#secrets/operations/move.ts";
import type { SecretsContext } from "#secrets/pipeline/secrets-context.ts";
import { secretOperations } from "#contract/secret-operations.ts";
import { whoOf, type OperationPipeline, type From } from "#secrets/pipeline/pipeline.ts";
import { writeReply } from "./reply.ts";
import { parseSecretUri } from "#secrets/model/secret-uri.ts";

export interface ActParts extends Pick<SecretsContext, "policy" | "journal" | "changes"> {
  readonly router: Router<Caller>;
  readonly perform: OperationPipeline;
  readonly answers: KeyedAnswers;
  readonly plans: SealedCursors<string>;
}

const ifMatchOf = ({ request }: From): string | null => request.headers.get("if-match");

/** Guard, scope and decision were passed, and nothing was done. */
class Passed extends Error {}

const onlyPassing = ({ look }: OperationPipeline): OperationPipeline =>
  Object.assign(
    async (ask: Parameters<OperationPipeline["look"]>[0]): Promise<never> => {
      await look(ask);
      throw new Passed();
    },
    { look },
  );

/** Everything that changes a secret. */
export const serveActs = ({ router, perform, policy, journal, answers, changes, plans }: ActParts): void => {
  const { schemes } = policy;
  /** A changing POST: with an Idempotency-Key it is done once; whoever has its answer again passes the pipeline again, up to the act. */
  const serveOnce = <E extends Endpoint>(endpoint: E, handlerOf: (perform: OperationPipeline) => Handler<E, Caller>): void => {
    const passAgain = handlerOf(onlyPassing(perform));
    router.serve(
      endpoint,
      answers.keyed(handlerOf(perform), (call) =>
        Promise.resolve(passAgain(call)).catch((error: unknown) => {
          if (!(error instanceof Passed)) throw error;
        }),
      ),
    );
  };

  serveOnce(writeSecret, (perform) => async ({ body, ...from }) => {
    const done = await perform({ ...writeAct(schemes, body, ifMatchOf(from)), ...whoOf(from) });
    return answer(writeReply(done), { status: done.result.created ? 201 : 200 });
  });

  router.serve(deleteSecret, async ({ query, ...from }) => {
    const { ref, result } = await perform({ ...removeAct(schemes, query, query.destroy === "true", ifMatchOf(from)), ...whoOf(from) });
    return { uri: ref.canonical, result: result.result, ...(result.versions === undefined ? {} : { versions: [...result.versions] }) };
  });

  serveOnce(rotateSecret, (perform) => async ({ body, ...from }) => {
    const { ref, result } = await perform({ ...rotateAct(schemes, body, ifMatchOf(from)), ...whoOf(from) });
    return {
      uri: ref.canonical,
      old_version: result.oldVersion,
      new_version: result.version,
      changed: result.changed,
      stage: "current" as const,
    };
  });

  serveOnce(setSecretOwner, (perform) => async ({ body, ...from }) => {
    const uri = parseSecretUri(body.uri, schemes);
    const { data: owner } = secretOwner.safeParse(body.owner);
    if (owner === undefined)
      throw new Problem("owner_invalid", { errors: [{ path: "/owner", message: "must be kind:name, e.g. group:payments" }] });
    const { ref, result } = await perform({
      operation: secretOperations.owner,
      uri,
      ...whoOf(from),
      act: async (provider, at) => {
        // Of what is not there nobody is the owner; deleted versions are there.
        const newest = provider.can.has("versions") ? (await provider.describe(at)).current_version : undefined;
        if (newest === undefined) await provider.read(at);
        const isOther = await changes.own(at.tenant, at.id, owner);
        return { isOther, ...(await changes.last(at.tenant, [at.id], newest)).get(at.id) };
      },
      isDone: ({ isOther }) => isOther,
    });
    const { created_by, created_at, updated_by, updated_at } = result;
    return { uri: ref.canonical, owner, created_by, created_at, updated_by, updated_at };
  });

  for (const [endpoint, how] of [
    [undeleteSecret, "undelete"],
    [destroySecretVersions, "destroy"],
  ] as const)
    serveOnce(endpoint, (perform) => async ({ body, ...from }) => {
      const { ref, result } = await perform({ ...settleAct(schemes, body, how, ifMatchOf(from)), ...whoOf(from) });
      return { uri: ref.canonical, versions: [...result] };
    });

  const carryOf = ({
    body,
    ...from
  }: From & { readonly body: { fromUri?: unknown; toUri?: unknown; overwrite?: boolean | undefined; cas?: number | undefined } }) => ({
    from: parseSecretUri(body.fromUri, schemes),
    to: parseSecretUri(body.toUri, schemes),
    overwrite: body.overwrite ?? false,
    cas: body.cas,
    who: whoOf(from),
  });
  serveOnce(copySecret, (perform) => async (call) => {
    if (call.body.dry_run === true) return answer(await lookAtCarry(perform, secretOperations.copy, carryOf(call)));
    const done = await copySecretTo(perform, carryOf(call));
    return answer(done, { status: done.created ? 201 : 200 });
  });
  serveOnce(moveSecret, (perform) => async (call) => {
    if (call.body.dry_run === true) return answer(await lookAtMove(perform, carryOf(call)));
    const done = await moveSecretTo(perform, journal, carryOf(call));
    return answer(done, { status: done.created ? 201 : 200 });
  });

  const bulk = { perform, schemes, plans };
  router.serve(
    bulkSecrets,
    answers.keyed<typeof bulkSecrets>(
      ({ body, ...from }) => performBulk(bulk, body, whoOf(from)),
      ({ body, ...from }, known) => passBulkAgain(bulk, body, known as ReplyOf<typeof bulkSecrets>, whoOf(from)),
    ),
  );
};

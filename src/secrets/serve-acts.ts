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
import { Problem } from "#contract/problem.ts";
import { writeSecret } from "#contract/secrets.ts";
import type { Caller } from "#authn/caller.ts";
import type { SealedCursors } from "#authn/sealed-cursors.ts";
import { answer, type Router } from "#http/serve.ts";
import { removeAct, rotateAct, settleAct, writeAct } from "./acts.ts";
import { performBulk } from "./bulk.ts";
import type { Changes } from "./changes.ts";
import type { SecretsPolicy } from "./config.ts";
import type { KeyedAnswers } from "./keyed-answers.ts";
import { copySecretTo } from "./copy.ts";
import { moveSecretTo } from "./move.ts";
import type { MoveJournal } from "./move-journal.ts";
import { operations } from "./operations.ts";
import type { Corridor } from "./perform.ts";
import { writeReply } from "./reply.ts";
import { parseSecretUri } from "./secret-uri.ts";

export interface ActParts {
  readonly router: Router<Caller>;
  readonly perform: Corridor;
  readonly policy: SecretsPolicy;
  readonly journal: MoveJournal;
  readonly answers: KeyedAnswers;
  readonly changes: Changes;
  readonly plans: SealedCursors<string>;
}

interface From {
  readonly caller: Caller;
  readonly request: Request;
  readonly correlationId: string;
}
const ifMatchOf = ({ request }: From): string | null => request.headers.get("if-match");
const whoOf = ({ caller, request, correlationId }: From) => ({ caller, headers: request.headers, correlationId });

/** Everything that changes a secret. */
export const serveActs = ({ router, perform, policy, journal, answers, changes, plans }: ActParts): void => {
  const { schemes } = policy;
  /** A changing POST: with an Idempotency-Key it is done once. */
  const serveOnce: Router<Caller>["serve"] = (endpoint, handler) => router.serve(endpoint, answers.keyed(handler));

  serveOnce(writeSecret, async ({ body, ...from }) => {
    const done = await perform({ ...writeAct(schemes, body, ifMatchOf(from)), ...whoOf(from) });
    return answer(writeReply(done), { status: done.result.created ? 201 : 200 });
  });

  router.serve(deleteSecret, async ({ query, ...from }) => {
    const { ref, result } = await perform({ ...removeAct(schemes, query, query.destroy === "true", ifMatchOf(from)), ...whoOf(from) });
    return { uri: ref.canonical, result: result.result, ...(result.versions === undefined ? {} : { versions: [...result.versions] }) };
  });

  serveOnce(rotateSecret, async ({ body, ...from }) => {
    const { ref, result } = await perform({ ...rotateAct(schemes, body, ifMatchOf(from)), ...whoOf(from) });
    return {
      uri: ref.canonical,
      old_version: result.oldVersion,
      new_version: result.version,
      stage: "current" as const,
    };
  });

  serveOnce(setSecretOwner, async ({ body, ...from }) => {
    const uri = parseSecretUri(body.uri, schemes);
    const { data: owner } = secretOwner.safeParse(body.owner);
    if (owner === undefined)
      throw new Problem("invalid_body", { errors: [{ path: "/owner", message: "must be kind:name, e.g. group:payments" }] });
    const { ref } = await perform({
      operation: operations.owner,
      uri,
      ...whoOf(from),
      act: async (provider, at) => {
        // Of what is not there nobody is the owner; deleted versions are there.
        await (provider.can.has("versions") ? provider.describe(at) : provider.read(at));
        await changes.own(at.tenant, at.id, owner);
      },
    });
    return { uri: ref.canonical, owner };
  });

  for (const [endpoint, how] of [
    [undeleteSecret, "undelete"],
    [destroySecretVersions, "destroy"],
  ] as const)
    serveOnce(endpoint, async ({ body, ...from }) => {
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
    ...whoOf(from),
  });
  serveOnce(copySecret, async (call) => {
    const done = await copySecretTo(perform, carryOf(call));
    return answer(done, { status: done.created ? 201 : 200 });
  });
  serveOnce(moveSecret, async (call) => {
    const done = await moveSecretTo(perform, journal, carryOf(call));
    return answer(done, { status: done.created ? 201 : 200 });
  });

  serveOnce(bulkSecrets, ({ body, ...from }) => performBulk({ perform, schemes, plans }, body, whoOf(from)));
};

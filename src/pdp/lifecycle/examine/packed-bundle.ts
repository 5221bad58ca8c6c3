import { setImmediate as nextTurn } from "node:timers/promises";
import { MessageChannel, receiveMessageOnPort, type MessagePort } from "node:worker_threads";
import type { Bundle } from "#pdp/bundle/bundle.ts";
import type { Policy } from "#pdp/bundle/policies.ts";
import type { PolicyFiles } from "#pdp/bundle/policy-files.ts";
import { inPieces } from "#pdp/model/in-pieces.ts";
import { schemaOf, type SchemaSource } from "#pdp/bundle/schema.ts";
import type { PolicyCase } from "#pdp/bundle/case.ts";

/** A bundle on its way from the thread that read it: data alone, the long parts in pieces. */
export interface PackedBundle {
  readonly packed: Omit<Bundle, "files" | "schema" | "policies" | "cases"> & { readonly schema: SchemaSource };
  /** Policies, then cases, each message a piece. */
  readonly pieces: MessagePort;
}

type Piece = { readonly policies: readonly Policy[] } | { readonly cases: readonly PolicyCase[] };

/** So many are taken in a few milliseconds. */
const PER_PIECE = 250;

export const packBundle = (bundle: Bundle): PackedBundle => {
  const { files: _files, schema, policies, cases, ...packed } = bundle;
  const { port1, port2 } = new MessageChannel();
  for (const some of inPieces([...policies.values()], PER_PIECE)) port1.postMessage({ policies: some } satisfies Piece);
  for (const some of inPieces(cases, PER_PIECE)) port1.postMessage({ cases: some } satisfies Piece);
  return { packed: { ...packed, schema: { text: schema.text, json: schema.json } }, pieces: port2 };
};

/** The bundle of these files as the thread packed it. A piece at a time: between two of them others have their turn. */
export const unpackBundle = async ({ packed, pieces }: PackedBundle, files: PolicyFiles): Promise<Bundle> => {
  const policies = new Map<string, Policy>();
  const cases: PolicyCase[] = [];
  for (;;) {
    const next = receiveMessageOnPort(pieces) as { readonly message: Piece } | undefined;
    if (next === undefined) break;
    if ("policies" in next.message) for (const policy of next.message.policies) policies.set(policy.id, policy);
    else cases.push(...next.message.cases);
    await nextTurn();
  }
  pieces.close();
  return { ...packed, files, schema: schemaOf(packed.schema), policies, cases };
};

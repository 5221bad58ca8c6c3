import { parseExactJson } from "#contract/exact-numbers.ts";
import { isLongerThan } from "#contract/json-members.ts";
import { callKey } from "#contract/tools.ts";
import { Problem } from "#contract/problem.ts";
import { statement, type Database } from "#store/database.ts";
import type { UpstreamAnswer } from "#crud/tools/tool.ts";
import type { AuthorizedCall } from "./check-chain.ts";
import { principalOf, type CallParts } from "#crud/tools/tool-call.ts";

/** What the upstream answered, sealed as it came: who may see what of it is decided each time it is shown. */
export interface KeptReply {
  readonly upstream: Pick<UpstreamAnswer, "value" | "media" | "isCut">;
  /** `shapeMark` of the tool that answered: by other rules it is not shaped. */
  readonly mark: string;
}

/** The hold on a key while its call runs. */
export interface KeyHold {
  /** The answer of the first call, if it is done. */
  readonly kept?: KeptReply;
  done(reply: KeptReply): Promise<void>;
  /** Nothing was done: the key is free again. */
  free(): Promise<void>;
  /** What came of it cannot be told; the key answers so until it expires. */
  unknown(): Promise<void>;
}

const KEPT_HOURS = 24;
const MAX_REPLY_BYTES = 1_048_576;

const CLAIM = statement<{ call_id: string }>(
  "crud.call_claim",
  `insert into crud.tool_call (call_id, tenant_id, principal, tool, idem_key, arguments_digest, state, node, at, expires_at)
   values ($1::uuid, $2, $3, $4, $5, $6, 'running', $7, now(), now() + make_interval(hours => ${KEPT_HOURS}))
   on conflict (principal, tool, idem_key) do update set
     call_id = excluded.call_id, tenant_id = excluded.tenant_id, arguments_digest = excluded.arguments_digest, state = 'running', reply = null,
     node = excluded.node, at = excluded.at, expires_at = excluded.expires_at
   where crud.tool_call.expires_at <= now()
   returning call_id::text`,
);
const HELD = statement<{ call_id: string; arguments_digest: Uint8Array; state: "running" | "done" | "unknown"; reply: Uint8Array | null }>(
  "crud.call_held",
  "select call_id::text, arguments_digest, state, reply from crud.tool_call where principal = $1 and tool = $2 and idem_key = $3",
);
const DONE = statement(
  "crud.call_done",
  "update crud.tool_call set state = 'done', reply = $2 where call_id = $1::uuid and state = 'running'",
);
const FREE = statement("crud.call_free", "delete from crud.tool_call where call_id = $1::uuid and state = 'running'");
const UNKNOWN = statement(
  "crud.call_unknown",
  "update crud.tool_call set state = 'unknown' where call_id = $1::uuid and state = 'running'",
);
const EXPIRED = statement("crud.calls_expired", "delete from crud.tool_call where expires_at <= now()");

/** 1 to 128 visible ASCII characters. Throws `invalid_params`. */
export const parseIdempotencyKey = (given: unknown): string | undefined => {
  if (given === undefined || given === null) return undefined;
  const { data } = callKey.safeParse(given);
  if (data !== undefined) return data;
  throw new Problem("invalid_params", { errors: [{ path: "idempotencyKey", message: "must be 1 to 128 visible ASCII characters" }] });
};

/**
 * Takes the key of this call, if it has one, or gives what its first call came to. Throws `idempotency_conflict` (other arguments),
 * `in_progress` (still running), `outcome_unknown` (nobody can tell), `reply_withheld` (done, and its answer was too large to keep or
 * cannot be read any more).
 */
export const claimKey = async (
  { call, tool, given }: AuthorizedCall,
  parts: Pick<CallParts, "database" | "replySealer" | "node">,
): Promise<KeyHold | undefined> => {
  const key = call.idempotencyKey;
  // The key of a start names its run.
  if (key === undefined || tool.source === "workflow") return undefined;
  const principal = principalOf(call.caller);
  const digest = Buffer.from(given.digest, "hex");
  const [taken] = await parts.database.run(CLAIM, [call.callId, call.caller.tenant, principal, tool.name, key, digest, parts.node]);
  if (taken !== undefined) {
    return {
      done: async (reply) => {
        const text = isLongerThan(reply, MAX_REPLY_BYTES) ? undefined : JSON.stringify(reply);
        const isSmall = text !== undefined && Buffer.byteLength(text) <= MAX_REPLY_BYTES;
        // An answer too large to keep cannot be repeated: the key says that it is used, never runs again.
        await parts.database.run(DONE, [call.callId, isSmall ? parts.replySealer.seal(text, call.callId) : null]);
      },
      free: async () => void (await parts.database.run(FREE, [call.callId])),
      unknown: async () => void (await parts.database.run(UNKNOWN, [call.callId])),
    };
  }
  const [held] = await parts.database.run(HELD, [principal, tool.name, key]);
  if (held === undefined) throw new Problem("in_progress");
  if (!Buffer.from(held.arguments_digest).equals(digest)) throw new Problem("idempotency_conflict");
  if (held.state === "running") throw new Problem("in_progress", { headers: { "retry-after": "1" } });
  if (held.state === "unknown") throw new Problem("outcome_unknown");
  const text = held.reply === null ? undefined : parts.replySealer.open(held.reply, held.call_id);
  if (text === undefined) throw new Problem("reply_withheld");
  const nothing = async (): Promise<void> => {};
  return { kept: parseExactJson(text) as KeptReply, done: nothing, free: nothing, unknown: nothing };
};

/** A call of a dead process: its key answers `outcome_unknown` from now on. */
export const forgetRunning = async (database: Database, callId: string): Promise<void> => void (await database.run(UNKNOWN, [callId]));

/** Drops keys whose day is over. */
export const sweepKeys = async (database: Database): Promise<void> => void (await database.run(EXPIRED));

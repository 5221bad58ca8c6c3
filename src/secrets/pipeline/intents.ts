import { createHmac, randomUUID } from "node:crypto";
import { canonicalJson } from "#contract/canonical-json.ts";
import { deriveKey, type InstanceSecrets } from "#authn/sealing/seal.ts";
import { statement, type Database } from "#store/database.ts";
import type { Intent } from "#secrets/providers/secret-provider.ts";
import { wireOf, type SecretData } from "#secrets/model/secret-value.ts";

/** Whose act it is that a store is touched for. */
export interface IntentOf {
  readonly tenant: string;
  /** Without version. */
  readonly uri: string;
  readonly op: string;
  readonly subject: string;
  readonly decision_id: string | null;
  readonly correlation_id: string;
}
export type IntentEnd = "completed" | "failed" | "superseded";
export interface OpenIntent extends IntentOf {
  readonly id: string;
  readonly wanted: Intent["wanted"];
  readonly versions: readonly bigint[];
  readonly map_mac: string | null;
}

export type Intents = ReturnType<typeof createIntents>;

const KEEP = statement(
  "secrets.intent_keep",
  `insert into secrets.intent (id, tenant, uri, op, wanted, versions, map_mac, subject, decision_id, correlation_id)
   values ($1, $2, $3, $4, $5, $6::bigint[], $7, $8, $9, $10)
   on conflict (id) do update set wanted = excluded.wanted, versions = excluded.versions, map_mac = excluded.map_mac, updated_at = now()`,
);
const END = statement("secrets.intent_end", "update secrets.intent set state = $2, updated_at = now() where id = $1");
const TAKE = statement<OpenIntent>(
  "secrets.intent_take",
  `update secrets.intent set updated_at = now()
   where id in (select id from secrets.intent where state = 'open' and updated_at < now() - make_interval(secs => $1)
                order by updated_at limit 50 for update skip locked)
   returning id, tenant, uri, op, wanted, versions, map_mac, subject, decision_id, correlation_id`,
);
const FORGET = statement(
  "secrets.intent_forget",
  "delete from secrets.intent where state <> 'open' and updated_at < now() - interval '24 hours'",
);

/** Longer than a store is waited for: what was sent is done by then, or never. */
const ABANDONED_SECONDS = 60;

/** What is done to stores, kept from before it is done until somebody knows how it ended. */
export const createIntents = (
  parts: { readonly database: Database; readonly secrets: InstanceSecrets },
  abandonedSeconds = ABANDONED_SECONDS,
) => {
  const { database } = parts;
  const keys = parts.secrets.map((secret) => deriveKey(secret, "secrets.intents.v1"));
  const macsOf = (of: Pick<IntentOf, "tenant" | "uri">, map: SecretData): readonly string[] => {
    const text = canonicalJson([of.tenant, of.uri, wireOf(map)]) ?? "";
    return keys.map((key) => createHmac("sha256", key).update(text).digest("base64url"));
  };
  return {
    /** Keeps what is about to be done; of a further try of the same act in the place of the one before. Answers its id. */
    keep: async (id: string = randomUUID(), of: IntentOf, { wanted, versions = [], map }: Intent): Promise<string> => {
      const mac = map === undefined ? null : (macsOf(of, map)[0] ?? null);
      const { tenant, uri, op, subject, decision_id, correlation_id } = of;
      await database.run(KEEP, [id, tenant, uri, op, wanted, versions, mac, subject, decision_id, correlation_id]);
      return id;
    },
    end: async (id: string, state: IntentEnd): Promise<void> => void (await database.run(END, [id, state])),
    /** Those that nobody has ended for a minute, taken by this process for another. */
    takeAbandoned: (): Promise<readonly OpenIntent[]> => database.run(TAKE, [abandonedSeconds]),
    /** Whether this is the map that was to be written. */
    isOf: (intent: OpenIntent, map: SecretData): boolean => intent.map_mac !== null && macsOf(intent, map).includes(intent.map_mac),
    /** Deletes those that ended 24 hours ago. */
    forget: async (): Promise<void> => void (await database.run(FORGET)),
  };
};

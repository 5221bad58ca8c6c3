import type { SqlValue } from "#store/database.ts";
import type { SessionRecord } from "./session-store.ts";

/** A row of `gateway.session`. */
export interface SessionRow {
  readonly sid_hash: string;
  readonly ref: string;
  readonly generation: number;
  readonly subject: string;
  readonly tenant: string;
  readonly issuer: string;
  readonly idp_sid: string | null;
  readonly idp_sub: string | null;
  readonly acr: string | null;
  readonly amr: readonly string[];
  readonly auth_time: bigint | null;
  readonly claims: SessionRecord["claims"];
  readonly ua_hash: string | null;
  readonly net_hash: string | null;
  readonly created_at: string;
  readonly last_seen_at: string;
  readonly idle_expires_at: string;
  readonly absolute_expires_at: string;
  readonly access_expires_at: string | null;
  readonly tokens: Uint8Array;
  readonly token_generation: number;
}

export const recordOf = (row: SessionRow): SessionRecord => ({
  sidHash: row.sid_hash,
  ref: row.ref,
  generation: row.generation,
  subject: row.subject,
  tenant: row.tenant,
  issuer: row.issuer,
  idpSid: row.idp_sid ?? undefined,
  idpSub: row.idp_sub ?? undefined,
  acr: row.acr ?? undefined,
  amr: row.amr,
  authTime: row.auth_time === null ? undefined : Number(row.auth_time),
  claims: row.claims,
  uaHash: row.ua_hash ?? undefined,
  netHash: row.net_hash ?? undefined,
  createdAt: new Date(row.created_at),
  lastSeenAt: new Date(row.last_seen_at),
  idleExpiresAt: new Date(row.idle_expires_at),
  absoluteExpiresAt: new Date(row.absolute_expires_at),
  accessExpiresAt: row.access_expires_at === null ? undefined : new Date(row.access_expires_at),
  tokens: row.tokens,
  tokenGeneration: row.token_generation,
});

/** In the order of the insert. */
export const columnsOf = (record: SessionRecord): readonly SqlValue[] => [
  record.sidHash,
  record.ref,
  record.generation,
  record.subject,
  record.tenant,
  record.issuer,
  record.idpSid ?? null,
  record.idpSub ?? null,
  record.acr ?? null,
  record.amr,
  record.authTime ?? null,
  JSON.stringify(record.claims),
  record.uaHash ?? null,
  record.netHash ?? null,
  record.createdAt,
  record.lastSeenAt,
  record.idleExpiresAt,
  record.absoluteExpiresAt,
  record.accessExpiresAt ?? null,
  record.tokens,
  record.tokenGeneration,
];

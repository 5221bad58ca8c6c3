import { z } from "zod";
import { maskKinds } from "./data-scope.ts";

/** Who enforces obligations; a sign-in is asked for at each of them. */
export type EnforcementPoint = "gateway" | "tools" | "agents" | "secrets" | "pdp";

/** One obligation. Its name among those that may be enforced is its kind, or without one its type. */
export interface ObligationRow {
  readonly type: string;
  /** Of a `custom` one. */
  readonly kind?: string;
  /** The properties that it may be written with in `obligations.yaml`. */
  readonly properties: z.ZodObject;
  /** Its properties in a decision, where they are others. */
  readonly form?: z.ZodObject;
  /** The member of the facts that its properties begin with. */
  readonly fill?: "data_scope";
  /** Properties in place of that member, where the facts have none. */
  readonly defaults?: Readonly<Record<string, unknown>>;
  readonly enforcedBy: readonly EnforcementPoint[];
}

/** The obligations of Sallyport, by id. */
export const obligationKinds = {
  mfa: {
    type: "step-up",
    properties: z.strictObject({
      acr_value: z.enum(["strong", "phishing_resistant"]),
      max_age_seconds: z.int().min(1).max(300),
    }),
    enforcedBy: [],
  },
  "data-scope": {
    type: "custom",
    kind: "data_scope",
    properties: z.strictObject({
      kind: z.literal("data_scope"),
      tenant_ids: z.array(z.string()).optional(),
      row_filter_sql: z.string().optional(),
      // YAML's null is the mask of that name.
      column_mask: z.record(z.string(), z.enum(maskKinds).nullable()).optional(),
    }),
    // A mask may be any word: whoever masks drops a column whose mask it does not know.
    form: z.strictObject({
      kind: z.literal("data_scope").optional(),
      tenant_ids: z.array(z.string()).optional(),
      row_filter_sql: z.string(),
      column_mask: z.record(z.string(), z.string().nullable().transform(String)),
    }),
    fill: "data_scope",
    // No rows and no columns are known to be the subject's: then none are.
    defaults: { tenant_ids: [], row_filter_sql: "1=0", column_mask: {} },
    enforcedBy: ["gateway", "tools", "agents"],
  },
  notify: {
    type: "notification",
    properties: z.strictObject({
      audience: z
        .string()
        .regex(
          /^(?:subject|resource_owner|agent_controller|(?:group|role):[A-Za-z0-9._:@+~-]+)$/,
          "must be subject, resource_owner, agent_controller, group:<id> or role:<id>",
        ),
      template: z.string().regex(/^[a-z][a-z0-9-]*$/),
    }),
    enforcedBy: ["pdp"],
  },
  "end-session": { type: "session_termination", properties: z.strictObject({}), enforcedBy: ["gateway"] },
  "secret-grant": {
    type: "custom",
    kind: "secret_grant",
    properties: z.strictObject({
      kind: z.literal("secret_grant"),
      ttl_s: z.int().min(1).max(86_400),
      max_uses: z.int().min(1).max(1_000_000),
    }),
    enforcedBy: ["secrets"],
  },
} as const satisfies Readonly<Record<string, ObligationRow>>;

type NameOf<Row> = Row extends { readonly kind: infer Kind } ? Kind : Row extends { readonly type: infer Type } ? Type : never;
type Kinds = typeof obligationKinds;

/** What a point enforces beside a sign-in. */
export type EnforcedAt<Point extends EnforcementPoint> = {
  [Id in keyof Kinds]: Point extends Kinds[Id]["enforcedBy"][number] ? NameOf<Kinds[Id]> : never;
}[keyof Kinds];

/** What any of them enforces. */
export type Meetable = { [Point in EnforcementPoint]: EnforcedAt<Point> }[EnforcementPoint];

import { z } from "zod";
import { maskKinds } from "./data-scope.ts";

/** The obligations of Sallyport, by id: the type of each, and the properties that it may be written with. */
export const obligationKinds = {
  mfa: {
    type: "step-up",
    properties: z.strictObject({
      acr_value: z.enum(["strong", "phishing_resistant"]),
      max_age_seconds: z.int().min(1).max(300),
    }),
  },
  "data-scope": {
    type: "custom",
    properties: z.strictObject({
      kind: z.literal("data_scope"),
      tenant_ids: z.array(z.string()).optional(),
      row_filter_sql: z.string().optional(),
      // YAML's null is the mask of that name.
      column_mask: z.record(z.string(), z.enum(maskKinds).nullable()).optional(),
    }),
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
  },
  "end-session": { type: "session_termination", properties: z.strictObject({}) },
  "secret-grant": {
    type: "custom",
    properties: z.strictObject({
      kind: z.literal("secret_grant"),
      ttl_s: z.int().min(1).max(86_400),
      max_uses: z.int().min(1).max(1_000_000),
    }),
  },
} as const satisfies Readonly<Record<string, { readonly type: string; readonly properties: z.ZodType }>>;

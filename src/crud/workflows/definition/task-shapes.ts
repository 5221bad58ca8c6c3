/* oxlint-disable unicorn/no-thenable -- `then` is a member of tasks in the DSL. */
import { z } from "zod";
import { said } from "#parsing/said.ts";
import type { StepKind } from "#crud/workflows/model/workflow-document.ts";
import { dslDuration } from "./durations.ts";

const expression = z.string().min(1);
const anyObject = z.record(z.string(), z.unknown());
/** Values with expressions. */
const value = z.union([z.string(), anyObject]);
const list = z.array(z.unknown());
const reference = z.string().min(1);

const timeout = z.strictObject({ after: said(dslDuration("PT1S", "P365D"), "How long it may take.", "PT1H") });
const error = z.strictObject({
  type: z.string().min(1),
  status: z.int().min(100).max(599),
  title: z.string().optional(),
  detail: z.string().optional(),
});
const empty = z.strictObject({});
const delay = dslDuration("PT0S", "P30D");
const retry = z.strictObject({
  when: expression.optional(),
  exceptWhen: expression.optional(),
  delay: delay.default(1000),
  backoff: z
    .strictObject({
      constant: empty.optional(),
      linear: z.strictObject({ increment: delay.optional() }).optional(),
      exponential: z.strictObject({ factor: z.number().min(1).max(10).default(2) }).optional(),
    })
    .refine((one) => Object.keys(one).length === 1, "must have one of constant, linear, exponential")
    .default({ constant: {} }),
  limit: z
    .strictObject({
      attempt: z.strictObject({ count: z.int().min(1).max(100).optional(), duration: dslDuration("PT1S", "P30D").optional() }).optional(),
      duration: dslDuration("PT1S", "P365D").optional(),
    })
    .optional(),
  jitter: z.strictObject({ from: delay, to: delay }).optional(),
});
export type RetryText = z.output<typeof retry>;
export type ErrorText = z.output<typeof error>;

/** What `use` may declare. */
export const declared = { retries: retry, errors: error, timeouts: timeout };

/** What a task of each kind may have; members with further tasks, and values, are read on their own. */
const base = {
  if: expression.optional(),
  output: z.strictObject({ as: value }).optional(),
  export: z.strictObject({ as: value }).optional(),
  timeout: z.union([timeout, reference]).optional(),
  then: reference.optional(),
  metadata: anyObject.optional(),
};
const compensation = z.strictObject({ call: reference, with: anyObject.default({}) });
const callMetadata = z.looseObject({
  compensate: compensation.optional(),
  onUnknown: z.enum(["retry", "ask", "fail"]).optional(),
});

export const taskShapes = {
  call: z.strictObject({ ...base, call: reference, with: anyObject.default({}), metadata: callMetadata.optional() }),
  set: z.strictObject({ ...base, set: anyObject }),
  do: z.strictObject({ ...base, do: list }),
  raise: z.strictObject({ ...base, raise: z.strictObject({ error: z.union([error, reference]) }) }),
  wait: z.strictObject({ ...base, wait: dslDuration("PT1S", "P365D") }),
  switch: z.strictObject({ ...base, switch: list.min(1) }),
  fork: z.strictObject({ ...base, fork: z.strictObject({ branches: list.min(2).max(32) }) }),
  for: z.strictObject({
    ...base,
    for: z.strictObject({ each: z.string().default("item"), in: expression, at: z.string().default("index") }),
    while: expression.optional(),
    do: list,
  }),
  try: z.strictObject({
    ...base,
    try: list,
    catch: z.strictObject({
      errors: z
        .strictObject({
          with: z
            .strictObject({ type: z.string(), status: z.int(), title: z.string(), details: z.string() })
            .partial()
            .refine((filter) => Object.keys(filter).length > 0, "must have a member"),
        })
        .optional(),
      as: z.string().default("error"),
      when: expression.optional(),
      exceptWhen: expression.optional(),
      retry: z.union([retry, reference]).optional(),
      do: list.default([]),
    }),
  }),
} satisfies Readonly<Partial<Record<StepKind, z.ZodType>>>;
export type TaskWord = keyof typeof taskShapes;
export type TaskText<Word extends TaskWord> = z.output<(typeof taskShapes)[Word]>;

export const caseShape = z.strictObject({ when: expression.optional(), then: reference });

const days = dslDuration("PT1S", "P365D");
/** `with` of `call: human.task`. */
export const humanShape = z.strictObject({
  title: z.string().min(1).max(500),
  description: z.string().max(4000).optional(),
  kind: z.enum(["approval", "form", "choice"]).default("approval"),
  assign: z.union([z.string(), z.array(z.string()).min(1).max(100)]),
  required: z.int().min(1).max(20).default(1),
  decisions: z
    .array(z.string().regex(/^[a-z][a-z0-9_-]{0,39}$/, "must be [a-z][a-z0-9_-]{0,39}"))
    .min(1)
    .max(10)
    .optional(),
  form: z.string().min(1).max(64).optional(),
  data: z.unknown().optional(),
  evidence: z.unknown().optional(),
  separationOfDuties: z.union([z.boolean(), z.array(z.string()).min(1)]).optional(),
  due: days.optional(),
  expires: days.default(14 * 86_400_000),
  onReject: z.enum(["raise", "continue"]).default("raise"),
  onExpire: z.enum(["raise", "continue"]).default("raise"),
});

/** Words of the DSL that are none of the subset. */
export const unsupportedWords: ReadonlySet<string> = new Set([
  "schedule",
  "run",
  "listen",
  "emit",
  "compete",
  "foreach",
  "from",
  "resource",
  "instance",
  "input",
  "functions",
  "secrets",
  "extensions",
  "catalogs",
  "authentications",
]);

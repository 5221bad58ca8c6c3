import { z } from "zod";
import { isTlsOrLoopback } from "./loopback.ts";
import type { Issue } from "./problem.ts";

/**
 * One setting of Sallyport: its environment name, schema, unit, default and description. The configuration manual,
 * its JSON Schema, `npm run doctor` and the start-up check all come from these rows.
 */
export interface Setting<T> {
  readonly env: string;
  readonly schema: z.ZodType<T>;
  readonly description: string;
  readonly unit?: string;
  /** True: its value is never printed. */
  readonly secret?: boolean;
  /** Text as it would stand in the environment; absent = no default (then the schema says whether it may be absent). */
  readonly default?: string;
  /** What `npm start` takes instead where it is unset. */
  readonly npmStart?: string;
}

export type SettingTable = Readonly<Record<string, Setting<unknown>>>;
export type SettingsOf<T extends SettingTable> = { readonly [K in keyof T]: T[K] extends Setting<infer V> ? V : never };

export const setting = <T>(env: string, schema: z.ZodType<T>, more: Omit<Setting<T>, "env" | "schema">): Setting<T> => ({
  env,
  schema,
  ...more,
});

/** `true` or `false`, nothing else: a misspelt switch must not fall to one side. */
export const flag = (): z.ZodType<boolean> =>
  z.enum(["true", "false"], { error: "must be true or false" }).transform((text) => text === "true") as unknown as z.ZodType<boolean>;

export const integer = (least: number, max: number): z.ZodType<number> =>
  z
    .string()
    .regex(/^-?[0-9]{1,15}$/, "must be a whole number")
    .transform(Number)
    .refine((value) => value >= least && value <= max, `must be ${least} to ${max}`) as unknown as z.ZodType<number>;

/** Comma list; blanks around items are dropped, empty text is the empty list. */
export const commaList = (): z.ZodType<readonly string[]> =>
  z.string().transform((text) =>
    text
      .split(",")
      .map((item) => item.trim())
      .filter((item) => item !== ""),
  ) as unknown as z.ZodType<readonly string[]>;

const isOrigin = (text: string): boolean => /^https?:\/\/[^*]+$/.test(text) && URL.canParse(text) && new URL(text).origin === text;

/** Comma list of origins, each of one host: no wildcard, no path. */
export const originList = (example: string): z.ZodType<readonly string[]> =>
  commaList().refine((items) => items.every(isOrigin), `must be origins, e.g. ${example}, without wildcards`);

/** Reads every setting of a table and collects **every** issue with the variable's name. An empty variable is unset. */
export const readSettings = <T extends SettingTable>(
  table: T,
  environment: Readonly<Record<string, string | undefined>>,
): { readonly values: SettingsOf<T>; readonly issues: readonly Issue[] } => {
  const values: Record<string, unknown> = {};
  const issues: Issue[] = [];
  for (const [name, row] of Object.entries(table)) {
    const given = environment[row.env];
    const text = given === undefined || given === "" ? row.default : given;
    const read = row.schema.safeParse(text);
    if (read.success) values[name] = read.data;
    else issues.push({ path: row.env, message: read.error.issues.map((issue) => issue.message).join("; ") });
  }
  return { values: values as SettingsOf<T>, issues };
};

/** Where the program runs; what is not dev or test is production. */
export type Environment = "dev" | "test" | "production";

/** Addresses, by setting, that production may not have: what goes to another machine goes over TLS. */
export const plainAddresses = (addresses: Readonly<Record<string, string | undefined>>, environment: Environment): readonly Issue[] =>
  Object.entries(addresses).flatMap(([path, address]) =>
    environment !== "production" || address === undefined || isTlsOrLoopback(address)
      ? []
      : [{ path, message: "must be https unless on loopback, where ENVIRONMENT is production" }],
  );

/** What production says of a secret that may be set, by how weak it is found. */
export const weakSecret = <T>(
  path: string,
  secret: T | undefined,
  weakness: (secret: T) => string | undefined,
  environment: Environment,
): readonly Issue[] => {
  const why = environment !== "production" || secret === undefined ? undefined : weakness(secret);
  return why === undefined ? [] : [{ path, message: `${why}; make another (openssl rand -base64 32)` }];
};

import { z } from "zod";
import { StartIssues } from "#contract/start-issues.ts";
import { readYaml } from "#parsing/yaml-document.ts";
import type { InteropCase } from "./interop-case.ts";

/** A set of our own: requests and wanted answers, one a row. `text` is sent as it stands, `body` as JSON. */
const row = z
  .strictObject({
    name: z.string().min(1),
    post: z.string().startsWith("/").optional(),
    get: z.string().startsWith("/").optional(),
    put: z.string().startsWith("/").optional(),
    anonymous: z.literal(true).optional(),
    headers: z.record(z.string(), z.string()).default({}),
    body: z.unknown().optional(),
    text: z.string().optional(),
    expect: z.strictObject({
      status: z.number().int().or(z.array(z.number().int()).min(2)).default(200),
      unread: z.literal(true).optional(),
      headers: z.record(z.string(), z.string()).optional(),
      body: z.unknown().optional(),
      decision: z.boolean().optional(),
      decisions: z.array(z.boolean().or(z.literal("any"))).optional(),
      results: z.array(z.unknown()).optional(),
      includes: z.array(z.unknown()).optional(),
      pagesOf: z.number().int().min(1).optional(),
      again: z.number().int().min(2).optional(),
      discovery: z.literal(true).optional(),
    }),
  })
  .refine(({ post, get, put }) => [post, get, put].filter((path) => path !== undefined).length === 1, "needs one of post, get and put")
  .refine(({ expect }) => expect.pagesOf === undefined || expect.results !== undefined, "pagesOf needs results");

const given = <T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as { [K in keyof T]: Exclude<T[K], undefined> };

/** The cases of a file of ours. Throws where the file is not of this form: a case that nobody understands proves nothing. */
export const readOwnSet = (set: string, text: string): readonly InteropCase[] => {
  const { document, issues } = readYaml(text, set);
  if (document === undefined) throw new StartIssues(issues);
  return z
    .array(row)
    .min(1)
    .parse(document.value)
    .map(({ name, post, get, put, anonymous, headers, body, text: sent, expect }) => ({
      set,
      name,
      method: post !== undefined ? "POST" : put !== undefined ? "PUT" : "GET",
      path: post ?? put ?? get ?? "/",
      headers,
      ...(anonymous === undefined ? {} : { anonymous }),
      body: sent ?? (body === undefined ? undefined : JSON.stringify(body)),
      expect: given(expect),
    }));
};

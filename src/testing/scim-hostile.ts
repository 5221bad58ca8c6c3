import { rawInteger } from "#contract/exact-numbers.ts";
import { patch, user } from "./scim-directory.ts";

const emails = (count: number): readonly object[] => Array.from({ length: count }, (_none, n) => ({ value: `${n}@acme.example` }));
const names = (count: number): object => Object.fromEntries(Array.from({ length: count }, (_none, n) => [`q${n}`, "x"]));
const times = (count: number, operation: object): readonly object[] => Array.from({ length: count }, () => operation);

export interface HostileScim {
  readonly what: string;
  readonly method: "PATCH" | "PUT";
  readonly body: object;
  /** Of the answer. */
  readonly status: number;
}

/** Messages about one user that cost as much as a message may, or would if they were taken; each below 1 MiB. */
export const hostileScim: readonly HostileScim[] = [
  {
    what: "100 operations of 240 e-mails",
    method: "PATCH",
    body: patch(...times(100, { op: "add", path: "emails", value: emails(240) })),
    status: 400,
  },
  {
    what: "100 operations of 100 e-mails",
    method: "PATCH",
    body: patch(...times(100, { op: "add", path: "emails", value: emails(100) })),
    status: 200,
  },
  {
    what: "100 operations with filters of 50 comparisons",
    method: "PATCH",
    body: patch(
      ...times(100, { op: "replace", path: `emails[${Array(49).fill('display co "y"').join(" or ")} or value pr].display`, value: "z" }),
    ),
    status: 200,
  },
  { what: "1,001 operations", method: "PATCH", body: patch(...times(1001, { op: "add", path: "title", value: "x" })), status: 413 },
  { what: "40,000 names without a path", method: "PATCH", body: patch({ op: "add", value: names(40_000) }), status: 400 },
  { what: "40,000 attributes", method: "PUT", body: user("u", names(40_000)), status: 400 },
  {
    what: "20,000 numbers that no double holds",
    method: "PATCH",
    body: patch({ op: "add", path: "title", value: Array(20_000).fill(rawInteger(12_345_678_901_234_567_890n)) }),
    status: 200,
  },
  { what: "40,000 names of one operation", method: "PATCH", body: patch({ op: "add", path: "title", ...names(40_000) }), status: 200 },
  { what: "a name of 800 kB", method: "PATCH", body: patch({ op: "add", value: { ["urn:".repeat(200_000)]: "x" } }), status: 400 },
  { what: "brackets in brackets", method: "PATCH", body: patch({ op: "add", path: `emails[${"(".repeat(400)}`, value: "x" }), status: 400 },
];

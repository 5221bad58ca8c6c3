import type { EdgeDraft } from "#membership/graph/put-edge.ts";
import type { NodeDraft } from "#membership/graph/put-node.ts";

/** What only the graph knows to be wrong, each at one line of a file of tenant:acme that has others before and behind it. */

export const ndjson = (...lines: readonly unknown[]): string =>
  lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join("");
export const group = (id: string, more: object = {}) => ({ node: { id, kind: "Group", name: id, ...more } });
export const member = (src: string, dst: string, more: object = {}) => ({ edge: { kind: "MEMBER_OF", src, dst, ...more } });
const app = (id: string, audience: string) => ({ node: { id, kind: "SaaSApp", name: id, props: { audience, scopes: [] } } });
const person = (id: string, more: object = {}) => ({ node: { id, kind: "Person", name: id, ...more } });
const control = (agent: string, by: string, level: string) => ({
  edge: { kind: "CONTROLLED_BY", src: agent, dst: by, props: { level } },
});

const tenant_id = "tenant:acme";
/** What is there before, beside the demo world. */
export const faultWorld: readonly (NodeDraft | EdgeDraft)[] = [
  ...["a", "b"].map((one) => ({ ...app(`saas:${one}`, `https://${one}.example`).node, kind: "SaaSApp", tenant_id }) as const),
  { id: "person:sleepy", kind: "Person", name: "Sleepy", state: "suspended", tenant_id },
  { kind: "MEMBER_OF", src: "person:sleepy", dst: "role:auditor" },
  { kind: "CONTROLLED_BY", src: "agent:reporter", dst: "person:dan", props: { level: "deputy" } },
];

const many = (count: number, of: (at: number) => object): readonly object[] => Array.from({ length: count }, (_none, at) => of(at));
const groups = many(12, (at) => group(`group:${at}`));
/** More than are written at once. */
const crowd = many(700, (at) => person(`person:${at}`));
const crowded = many(700, (at) => member(`person:${at}`, "group:1"));

export interface ImportError {
  readonly what: string;
  readonly lines: readonly object[];
  readonly line: number;
  readonly path: string;
  readonly code: string;
}
export const importIssues: readonly ImportError[] = [
  {
    what: "the line that closes a ring",
    lines: [
      ...groups,
      member("group:1", "group:2"),
      member("group:3", "group:4"),
      member("group:2", "group:5"),
      member("group:5", "group:1"),
      member("group:4", "group:6"),
    ],
    line: 16,
    path: "/",
    code: "cycle",
  },
  {
    what: "the line that closes a ring, in the middle of many",
    lines: [
      ...groups,
      ...crowd,
      ...crowded.slice(0, 510),
      member("group:1", "group:2"),
      ...crowded.slice(510, 650),
      member("group:2", "group:1"),
      ...crowded.slice(650),
    ],
    line: 12 + 700 + 510 + 1 + 140 + 1,
    path: "/",
    code: "cycle",
  },
  {
    what: "the line that nests too deep",
    lines: [...groups, ...many(11, (at) => member(`group:${at}`, `group:${at + 1}`))],
    line: 12 + 9,
    path: "/",
    code: "unprocessable",
  },
  {
    what: "another's audience, taken by a change",
    lines: [person("person:x"), app("saas:a", "https://c.example"), person("person:y"), app("saas:b", "https://c.example")],
    line: 4,
    path: "/",
    code: "already_exists",
  },
  {
    what: "another's audience, of a new one",
    lines: [person("person:x"), app("saas:new", "https://a.example"), person("person:y")],
    line: 2,
    path: "/id",
    code: "already_exists",
  },
  {
    what: "a second one of what an agent has one of",
    lines: [groups[0] ?? {}, control("agent:reporter", "group:0", "primary")],
    line: 2,
    path: "/",
    code: "already_exists",
  },
  {
    what: "the same by a change",
    lines: [
      control("agent:hr-assistant", "person:dan", "deputy"),
      control("agent:reporter", "person:cleo", "primary"),
      control("agent:reporter", "person:dan", "primary"),
    ],
    line: 3,
    path: "/",
    code: "already_exists",
  },
  {
    what: "an end that is not there, behind a part",
    lines: [...groups, ...crowd, ...crowded.slice(0, 600), member("person:never", "group:1"), ...crowded.slice(600)],
    line: 12 + 700 + 600 + 1,
    path: "/src",
    code: "unprocessable",
  },
  {
    what: "an end of another tenant",
    lines: [...groups, member("group:1", "group:2"), member("group:3", "group:globex-staff")],
    line: 14,
    path: "/dst",
    code: "unprocessable",
  },
  { what: "another tenant's node", lines: [person("person:x"), person("person:eve")], line: 2, path: "/id", code: "already_exists" },
  {
    what: "a role given",
    lines: [...groups, member("person:dan", "group:1"), member("person:dan", "role:administrator"), member("person:ben", "group:1")],
    line: 14,
    path: "/",
    code: "access_denied",
  },
  {
    what: "a role given by a group that has it",
    lines: [...groups, member("group:1", "group:platform-admins"), member("group:2", "group:3")],
    line: 13,
    path: "/",
    code: "access_denied",
  },
  {
    what: "a mark of what may give roles",
    lines: [groups[0] ?? {}, group("group:marked", { props: { provisions_roles: true } })],
    line: 2,
    path: "/",
    code: "access_denied",
  },
  {
    what: "somebody woken who has a role",
    lines: [person("person:x"), person("person:sleepy", { name: "Sleepy", state: "active" })],
    line: 2,
    path: "/",
    code: "access_denied",
  },
  {
    what: "the last administrator switched off",
    lines: [person("person:x"), person("person:ada", { state: "disabled" })],
    line: 2,
    path: "/",
    code: "last_administrator",
  },
  {
    what: "a role taken away with a node",
    lines: [person("person:x"), { drop: { node: "group:platform-admins", cascade: true } }],
    line: 2,
    path: "/drop",
    code: "access_denied",
  },
  {
    what: "an agent's last controller taken away",
    lines: [person("person:x"), { drop: { edge: { kind: "CONTROLLED_BY", src: "agent:hr-assistant", dst: "person:ben" } } }],
    line: 2,
    path: "/drop",
    code: "last_controller",
  },
];

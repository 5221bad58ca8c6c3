import type * as topic from "#contract/graph-edit.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  changeGraph: {
    sample: { changes: [{ op: "drop_node", id: "group:none" }], reason: "For a test" },
    about: [
      { body: { changes: [{ op: "drop_node", id: "{id}", cascade: true }], reason: "looking around" } },
      {
        body: {
          changes: [{ op: "put_edge", edge: { kind: "MEMBER_OF", src: "account:eve@globex", dst: "{id}" } }],
          reason: "looking around",
        },
      },
    ],
    attempts: [
      { body: { reason: "please", changes: [{ op: "put_edge", edge: { kind: "MEMBER_OF", src: "{ben}", dst: "role:administrator" } }] } },
    ],
    repeat: {
      bodies: [
        { changes: [{ op: "put_node", node: { id: "group:once", kind: "Group", name: "group:once" } }], reason: "For a test" },
        { changes: [{ op: "put_node", node: { id: "group:twice", kind: "Group", name: "group:twice" } }], reason: "For a test" },
      ],
    },
  },
  deleteGraphEdge: {
    about: [
      { params: { kind: "MEMBER_OF", src: "{id}", dst: "group:people-ops" } },
      { params: { kind: "MEMBER_OF", src: "account:ben@acme", dst: "{id}" } },
    ],
    attempts: [{ params: { kind: "MEMBER_OF", src: "{ada}", dst: "role:administrator" } }],
  },
  deleteGraphNode: {
    about: [{ params: { id: "{id}" }, query: { cascade: "true" }, headers: { "if-match": '"1"' } }],
    attempts: [
      { params: { id: "{ada}" }, query: { cascade: "true" }, headers: { "if-match": "*" } },
      { params: { id: "role:administrator" }, query: { cascade: "true" }, headers: { "if-match": "*" } },
    ],
  },
  getGraphEdge: {
    read: { params: { kind: "MEMBER_OF", src: "account:ben@acme", dst: "group:people-ops" } },
    about: [
      { params: { kind: "MEMBER_OF", src: "{id}", dst: "group:people-ops" } },
      { params: { kind: "MEMBER_OF", src: "account:ben@acme", dst: "{id}" } },
    ],
  },
  patchGraphNode: {
    about: [{ params: { id: "{id}" }, body: { name: "x" }, headers: { "if-match": '"1"' } }],
    attempts: [{ params: { id: "{ben}" }, body: { name: "Ben the Great" }, headers: { "if-match": "*" } }],
  },
  putGraphEdge: {
    about: [
      { params: { kind: "MEMBER_OF", src: "{id}", dst: "group:globex-staff" }, body: {} },
      { params: { kind: "MEMBER_OF", src: "account:eve@globex", dst: "{id}" }, body: {} },
      { params: { kind: "MEMBER_OF", src: "{id}", dst: "group:globex-staff" }, body: {}, headers: { "if-match": '"1"' } },
    ],
    attempts: [
      { params: { kind: "MEMBER_OF", src: "{ben}", dst: "role:administrator" }, body: {} },
      { params: { kind: "MEMBER_OF", src: "{ben}", dst: "role:security" }, body: {} },
      { params: { kind: "MEMBER_OF", src: "{ben}", dst: "group:all" }, body: {} },
      { params: { kind: "MEMBER_OF", src: "group:all", dst: "role:administrator" }, body: {} },
      { params: { kind: "GRANTS_ACCESS", src: "{ben}", dst: "mcp:acme.files" }, body: {} },
      { params: { kind: "HAS_CAPABILITY", src: "agent:helper", dst: "tool:x" }, body: { props: { granted_by: "{ben}" } } },
    ],
  },
  putGraphNode: {
    about: [{ params: { id: "{id}" }, body: { kind: "Group", name: "x" }, headers: { "if-match": '"1"' } }],
    attempts: [
      { params: { id: "group:mine" }, body: { kind: "Group", name: "Mine" }, headers: { "if-none-match": "*" } },
      { params: { id: "agent:mine" }, body: { kind: "AIAgent", name: "Mine" }, headers: { "if-none-match": "*" } },
      { params: { id: "role:mine" }, body: { kind: "BusinessRole", name: "Mine" }, headers: { "if-none-match": "*" } },
      { params: { id: "{ada}" }, body: { kind: "Person", name: "Not Ada" }, headers: { "if-match": "*" } },
    ],
  },
};

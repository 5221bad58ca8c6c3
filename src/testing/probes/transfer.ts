import type * as topic from "#contract/transfer.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  exportGraph: { about: [{ query: { kinds: "Location" } }], attempts: [{}] },
  importGraph: {
    about: [
      { query: { reason: "looking around" }, body: [{ drop: { node: "{id}" } }], headers: { "content-type": "application/x-ndjson" } },
      {
        query: { reason: "looking around" },
        body: [{ edge: { kind: "MEMBER_OF", src: "account:eve@globex", dst: "{id}" } }],
        headers: { "content-type": "application/x-ndjson" },
      },
      {
        query: { reason: "looking around", on_conflict: "skip" },
        body: [{ edge: { kind: "MEMBER_OF", src: "{id}", dst: "group:people-ops" } }],
        headers: { "content-type": "application/x-ndjson" },
      },
      {
        query: { reason: "looking around", on_conflict: "fail" },
        body: [{ edge: { kind: "MEMBER_OF", src: "{id}", dst: "group:people-ops" } }],
        headers: { "content-type": "application/x-ndjson" },
      },
    ],
    attempts: [
      {
        query: { reason: "please" },
        body: [{ edge: { kind: "MEMBER_OF", src: "{ben}", dst: "role:administrator" } }],
        headers: { "content-type": "application/x-ndjson" },
      },
      {
        query: { reason: "please", format: "csv", csv: "edges" },
        body: "kind,src,dst\nMEMBER_OF,{ben},role:administrator\n",
        headers: { "content-type": "text/csv" },
      },
    ],
    repeat: {
      query: { reason: "Once" },
      headers: { "content-type": "application/x-ndjson" },
      bodies: [
        [{ node: { id: "group:imported", kind: "Group", name: "group:imported" } }],
        [{ node: { id: "group:twice", kind: "Group", name: "group:twice" } }],
      ],
    },
  },
};

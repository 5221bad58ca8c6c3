import { isObject } from "#contract/is-object.ts";
import type { DraftShape } from "../../session/use-draft.ts";

/** What is written over a system and not published. */
export interface SystemDraft {
  /** Absent: nothing is. */
  readonly text?: string;
  /** The version that it is written over; absent for a new system. */
  readonly version?: number;
  readonly etag?: string;
}

export const emptyDraft: SystemDraft = {};

export const draftShape: DraftShape<SystemDraft> = {
  read: (kept) => {
    if (!isObject(kept) || typeof kept["text"] !== "string") return undefined;
    const { text, version, etag } = kept;
    return { text, ...(typeof version === "number" && typeof etag === "string" ? { version, etag } : {}) };
  },
};

interface Base {
  readonly version: number;
  readonly etag: string;
  readonly text: string;
}

/** A text written over a version; none where it is the version's own again. What it was begun over stays what it is over. */
export const withText = (draft: SystemDraft, base: Base, text: string): SystemDraft => {
  if (text === base.text && (draft.etag ?? base.etag) === base.etag) return emptyDraft;
  return { text, version: draft.version ?? base.version, etag: draft.etag ?? base.etag };
};

/** Somebody published another version since. */
export const isOverOlder = ({ text, etag }: SystemDraft, present: string): boolean =>
  text !== undefined && etag !== undefined && etag !== present;

/** A new system to begin with. */
export const template = (owner: string, tenant: string): string => `apiVersion: systems/v1
provider: example
instance: first
title: An example
owner: ${owner}
tenants: [${tenant}]
kind: http
baseUrl: https://api.example.com
# How Sallyport signs in there, by a credential that lies in secrets:
# auth: { type: bearer, token: "yaml://secret/example#token" }
defaults:
  dataScope: none
operations:
  list_things:
    description: Lists things whose name holds a text.
    annotations: { readOnlyHint: true }
    input:
      type: object
      properties:
        name: { type: string, maxLength: 100 }
    request: { method: GET, path: /things }
`;

import type { DecisionRecord } from "#contract/decisions.ts";

/** May this person ask for what was denied here? An agent asks by itself, where it was refused. */
export const isAskedForHere = (record: DecisionRecord, viewerId: string): boolean =>
  record.requestable &&
  !record.decision &&
  record.agent === undefined &&
  record.resource.id !== undefined &&
  (record.subject === undefined || record.subject.id === viewerId);

/** Id of the part of a decision's page where it can be asked for. */
export const ASK_PANEL = "ask-for-it";

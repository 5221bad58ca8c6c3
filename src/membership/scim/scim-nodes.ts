import { isObject } from "#contract/is-object.ts";
import { present, type NodeDraft, type NodeRow } from "#membership/graph/put-node.ts";
import { memberOf } from "./scim-document.ts";
import { ScimError } from "./scim-error.ts";
import type { ScimDocument } from "./scim-schemas.ts";
import { accountIdOf, nodeIdOf } from "./scim-store.ts";

/** The nodes of the graph that a document of the directory is kept as. */

export const isText = (value: unknown, max: number): value is string =>
  typeof value === "string" && value.trim() !== "" && value.length <= max && !/\p{Cc}/u.test(value);
const fitting = (value: unknown, max: number): string | undefined => (isText(value, max) ? value : undefined);

/** What is only shown is made to fit; what somebody is known by is refused where it does not. */
const shown = (...names: readonly unknown[]): string => {
  const name = names.find((one): one is string => typeof one === "string" && one.trim() !== "") ?? "";
  const plain = name.replace(/\p{Cc}+/gu, " ").trim();
  return plain.slice(0, 240).toWellFormed();
};
const known = (document: ScimDocument, attribute: string, max: number): string => {
  const value = document[attribute];
  if (isText(value, max)) return value;
  throw new ScimError(400, "invalidValue", `${attribute} must be 1 to ${max} characters without control characters.`);
};

const objectOf = (value: unknown): Readonly<Record<string, unknown>> => (typeof value === "object" && value !== null ? { ...value } : {});
const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

const emailOf = (document: ScimDocument): string | undefined => {
  const emails = Array.isArray(document["emails"]) ? document["emails"].map(objectOf).filter(({ value }) => fitting(value, 254)) : [];
  const chosen = emails.find(({ primary }) => primary === true) ?? emails.find(({ type }) => type === "work") ?? emails[0];
  return chosen?.["value"] as string | undefined;
};

const externalIdOf = (document: ScimDocument): string | undefined =>
  document["externalId"] === undefined ? undefined : known(document, "externalId", 1000);

/**
 * `active: true` wakes whom `active: false` switched off (`isSuspended`), and nobody whom somebody else did; a message that does not say
 * `active` changes nothing.
 */
const stateOf = (said: boolean | undefined, isSuspended: boolean, held: NodeRow | undefined): string => {
  if (held === undefined) return said === false ? "suspended" : "active";
  if (said === false && held.state === "active") return "suspended";
  return said === true && isSuspended ? "active" : held.state;
};

/** What a message says of whether its user is active, and whether an earlier one switched the user off. */
export interface ActiveChange {
  readonly said: boolean | undefined;
  readonly isSuspended: boolean;
}

export const userNodes = (
  tenant: string,
  id: string,
  document: ScimDocument,
  { said: saidActive, isSuspended }: ActiveChange,
  held: ReadonlyMap<string, NodeRow>,
): readonly NodeDraft[] => {
  const userName = known(document, "userName", 254);
  const name = objectOf(document["name"]);
  const [personId, accountId] = [nodeIdOf("User", id), accountIdOf(id)];
  const { email: _email, given_name: _given, family_name: _family, employee_id: _employee, ...own } = held.get(personId)?.props ?? {};
  const said = {
    email: emailOf(document),
    given_name: fitting(name["givenName"], 128),
    family_name: fitting(name["familyName"], 128),
    employee_id: fitting(objectOf(document[ENTERPRISE])["employeeNumber"], 64),
  };
  const common = { system: "scim", tenant_id: tenant } as const;
  const display = shown(
    document["displayName"],
    name["formatted"],
    [name["givenName"], name["familyName"]].filter(Boolean).join(" "),
    userName,
  );
  return [
    {
      ...common,
      id: personId,
      kind: "Person",
      name: display === "" ? userName : display,
      state: stateOf(saidActive, isSuspended, held.get(personId)),
      external_id: externalIdOf(document),
      props: { ...own, ...present(said) },
    },
    {
      ...common,
      id: accountId,
      kind: "Account",
      name: userName,
      state: held.get(accountId)?.state,
      props: { ...held.get(accountId)?.props, login: userName, system: "scim" },
    },
  ];
};

export const groupNode = (tenant: string, id: string, document: ScimDocument, held: NodeRow | undefined): NodeDraft => {
  const external = externalIdOf(document);
  return {
    id: nodeIdOf("Group", id),
    kind: "Group",
    name: known(document, "displayName", 256),
    system: "scim",
    tenant_id: tenant,
    state: held?.state,
    // Users and groups are numbered apart where they come from.
    external_id: external === undefined ? undefined : `group/${external}`,
    props: held?.props ?? {},
  };
};

export const isMemberId = (value: unknown): value is string => typeof value === "string" && /^[a-z2-7]{26}$/.test(value);

export const noMember = (): ScimError => new ScimError(400, "invalidValue", "members[].value must be the id of a user or group.");

/** SCIM ids of members as they are named: one or several, objects or text; `onStranger` takes what is none. Throws `invalidSyntax`. */
export const memberIds = (members: unknown, onStranger: (name: unknown) => void): ReadonlySet<string> => {
  const named = members === undefined || members === null ? [] : Array.isArray(members) ? members : [members];
  const ids = new Set<string>();
  for (const one of named) {
    const id: unknown = isObject(one) ? memberOf(one, "value") : one;
    if (isMemberId(id)) ids.add(id);
    else onStranger(id);
  }
  return ids;
};

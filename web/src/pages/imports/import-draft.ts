import { isObject } from "#contract/is-object.ts";
import { instanceName, providerName } from "#contract/configs.ts";
import { importOpenApi } from "#contract/imports.ts";
import type { AcceptBody, Looked } from "../../api/systems.ts";
import type { DraftShape } from "../../session/use-draft.ts";

export const steps = ["document", "pick", "connect", "check"] as const;
export type Step = (typeof steps)[number];

export interface ImportDraft {
  readonly fields: ImportFields;
  readonly picks: readonly string[];
  /** What Sallyport said of the document. */
  readonly looked?: Looked;
}

/** All that is typed or chosen; texts, so that they may be kept as they are. */
const noFields = {
  provider: "",
  instance: "",
  /** paste, file, url */
  how: "paste",
  text: "",
  url: "",
  network: "",
  /** all, some */
  takes: "all",
  title: "",
  baseUrl: "",
  networks: "",
  /** none, bearer, api_key, basic, oauth2_client */
  auth: "none",
  in: "header",
  name: "",
  token: "",
  value: "",
  username: "",
  password: "",
  tokenUrl: "",
  clientId: "",
  clientSecret: "",
  /** With blanks between them. */
  scopes: "",
};
export type ImportFields = Readonly<typeof noFields>;

/** An empty form; for a system that is there its name stands already. */
export const emptyImport = (system: string | undefined): ImportDraft => {
  const [provider = "", instance = ""] = system?.split(".") ?? [];
  return { fields: { ...noFields, provider, instance }, picks: [] };
};

/** A larger document is not kept: what was found of it is, and it lies with Sallyport. */
const MAX_KEPT = 500_000;

export const importShape: DraftShape<ImportDraft> = {
  read: (kept) => {
    if (!isObject(kept) || !isObject(kept["fields"]) || !Array.isArray(kept["picks"])) return undefined;
    const found = kept["fields"];
    const texts = Object.keys(noFields).flatMap((name) => (typeof found[name] === "string" ? [[name, found[name]]] : []));
    const looked = importOpenApi.reply.safeParse(kept["looked"]).data;
    // An import is gone after some days.
    const isThere = looked !== undefined && new Date(looked.expires_at) > new Date();
    return {
      fields: { ...noFields, ...(Object.fromEntries(texts) as Partial<ImportFields>) },
      picks: kept["picks"].filter((key) => typeof key === "string"),
      ...(isThere ? { looked } : {}),
    };
  },
  keep: (draft) => (draft.fields.text.length > MAX_KEPT ? { ...draft, fields: { ...draft.fields, text: "" } } : draft),
};

/** An address that paths can be put after. */
const isBase = (url: string): boolean => /^https?:\/\/[^{}\s]+$/.test(url);

/** What the document says of address and sign-in is where the person begins. */
export const withLooked = ({ fields }: ImportDraft, looked: Looked): ImportDraft => {
  const [server = ""] = looked.servers;
  const key = looked.security.find(({ type, in: where, parameter }) => type === "apiKey" && where !== "cookie" && parameter !== undefined);
  const client = looked.security.find(({ tokenUrl }) => tokenUrl !== undefined);
  const basic = looked.security.some(({ type }) => type === "basic");
  const signs = looked.security.length > 0;
  return {
    fields: {
      ...fields,
      takes: "all",
      title: looked.title.slice(0, 80),
      baseUrl: isBase(server) ? server : "",
      auth: key !== undefined ? "api_key" : client !== undefined ? "oauth2_client" : basic ? "basic" : signs ? "bearer" : "none",
      in: key?.in === "query" ? "query" : "header",
      name: key?.parameter ?? "",
      tokenUrl: isBase(client?.tokenUrl ?? "") ? (client?.tokenUrl ?? "") : "",
      scopes: client?.scopes?.join(" ") ?? "",
    },
    picks: [],
    looked,
  };
};

const SECRET = /^[a-z][A-Za-z0-9+]*:\/\/[^\s#?]+#[^\s#?]+(?:\?version=\d+)?$/;
const KEY_NAME = /^[A-Za-z][A-Za-z0-9_-]{0,60}$/;

const credentialsOf = {
  none: [],
  bearer: ["token"],
  api_key: ["value"],
  basic: ["username", "password"],
  oauth2_client: ["clientId", "clientSecret"],
} as const satisfies Readonly<Record<string, readonly (keyof ImportFields)[]>>;
export type AuthKind = keyof typeof credentialsOf;
export type Credential = (typeof credentialsOf)[AuthKind][number];

export const authKindOf = ({ auth }: ImportFields): AuthKind => (auth in credentialsOf ? (auth as AuthKind) : "none");
/** Secrets that a kind of sign-in needs. */
export const credentialFields = (kind: AuthKind): readonly Credential[] => credentialsOf[kind];

/** Fields of a step that are not right yet. */
export const faultyFields = (step: Step, { fields, picks }: ImportDraft, hasFile: boolean, isUpdate: boolean): readonly string[] => {
  const wrong = (checks: Readonly<Record<string, boolean>>): readonly string[] =>
    Object.keys(checks).filter((name) => checks[name] !== true);
  switch (step) {
    case "document":
      return wrong({
        provider: providerName.safeParse(fields.provider).success,
        instance: instanceName.safeParse(fields.instance).success,
        text: fields.how !== "paste" || fields.text.trim() !== "",
        file: fields.how !== "file" || hasFile,
        url: fields.how !== "url" || /^https?:\/\/\S+$/.test(fields.url.trim()),
      });
    case "pick":
      return wrong({ picks: fields.takes !== "some" || picks.length > 0 });
    case "connect": {
      if (isUpdate) return [];
      const kind = authKindOf(fields);
      return wrong({
        baseUrl: isBase(fields.baseUrl.trim()),
        name: kind !== "api_key" || KEY_NAME.test(fields.name),
        tokenUrl: kind !== "oauth2_client" || isBase(fields.tokenUrl.trim()),
        ...Object.fromEntries(credentialsOf[kind].map((name) => [name, SECRET.test(fields[name].trim())])),
      });
    }
    case "check":
      return [];
  }
};

/** What is sent for a new system. */
export const acceptBody = ({ fields, picks }: ImportDraft): AcceptBody => {
  const kind = authKindOf(fields);
  const networks = fields.networks.split(/[\s,]+/).filter((network) => network !== "");
  const title = fields.title.trim();
  return {
    ...(fields.takes === "some" ? { pick: [...picks] } : {}),
    baseUrl: fields.baseUrl.trim(),
    ...(title === "" ? {} : { title }),
    ...(networks.length === 0 ? {} : { allow: networks }),
    auth: {
      type: kind,
      ...(kind === "api_key" ? { in: fields.in, name: fields.name } : {}),
      ...(kind === "oauth2_client"
        ? { tokenUrl: fields.tokenUrl.trim(), scopes: fields.scopes.split(/[\s,]+/).filter((scope) => scope !== "") }
        : {}),
      ...Object.fromEntries(credentialsOf[kind].map((name) => [name, fields[name].trim()])),
    },
  };
};

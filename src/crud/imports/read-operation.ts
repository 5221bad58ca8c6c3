import { follow, ImportError, listOf, memberOf, nodeOf, serversOf, wordOf, type Node, type OpenApi } from "./openapi-document.ts";
import { plain } from "./import-schema.ts";
import { FORM, isJsonMedia, MULTIPART, type PropertyEncoding } from "#crud/systems/request-body.ts";
import { CONNECTION_HEADERS, ROUTING_HEADERS } from "#crud/systems/connection-headers.ts";
import { styles, type Style } from "#crud/systems/parameter-styles.ts";

/** A parameter, whichever version of the format says it. */
export interface ReadParameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly isRequired: boolean;
  readonly description: string | undefined;
  readonly schema: unknown;
  readonly style?: Style | undefined;
  readonly explode?: boolean | undefined;
  readonly allowReserved?: boolean | undefined;
}
export interface ReadBody {
  readonly media: string;
  readonly isRequired: boolean;
  readonly description: string | undefined;
  readonly schema: unknown;
  readonly encoding: Readonly<Record<string, PropertyEncoding>>;
}
export interface ReadOperation {
  readonly parameters: readonly ReadParameter[];
  readonly body: ReadBody | undefined;
  /** It answers neither JSON nor text. */
  readonly answersBytes: boolean;
  /** What is not sent, in words. */
  readonly left: readonly string[];
}

/** Where an operation stands. */
export interface OperationPlace {
  /** `GET /users/{id}`. */
  readonly key: string;
  readonly method: string;
  readonly path: string;
  readonly item: Node;
  readonly operation: Node;
}

const METHODS = ["get", "put", "post", "delete", "options", "head", "patch", "trace"] as const;
const MAX_OPERATIONS = 10_000;
/** Parameters of one operation: each is a line of a form, and no tool that a model can use has so many. */
const MAX_PARAMETERS = 500;
/** Of all operations together: many may share one list. */
const MAX_PARAMETERS_IN_ALL = 200_000;
const MAX_NAME = 500;
/** What is left out of one operation and told by name. */
const MAX_LEFT = 5;

/** What a document names, as a problem shows it. */
const shortOf = (value: unknown): string => plain(String(value).slice(0, 60));

/** The parameters of an operation and those of its path, as they are given; no more than may be, and one. */
const givenTo = (item: Node, operation: Node): readonly unknown[] =>
  [item, operation].flatMap((node) => listOf(node["parameters"]).slice(0, MAX_PARAMETERS + 1));

/** All operations in the order of the document. Throws `ImportError` for too many. */
export const operationsOf = (document: OpenApi): readonly OperationPlace[] => {
  const places: OperationPlace[] = [];
  let parameters = 0;
  for (const [path, value] of Object.entries(nodeOf(document.root["paths"]))) {
    if (!path.startsWith("/")) continue;
    let item: Node;
    try {
      item = follow(document, value);
    } catch {
      item = nodeOf(value);
    }
    for (const method of METHODS) {
      const operation = memberOf(item, method);
      if (operation === undefined) continue;
      const name = method.toUpperCase();
      places.push({ key: `${name} ${path}`, method: name, path, item, operation: nodeOf(operation) });
      if (places.length > MAX_OPERATIONS) throw new ImportError(`has more than ${MAX_OPERATIONS} operations`);
      parameters += Math.min(givenTo(item, nodeOf(operation)).length, MAX_PARAMETERS);
      if (parameters > MAX_PARAMETERS_IN_ALL) throw new ImportError(`has more than ${MAX_PARAMETERS_IN_ALL} parameters in all operations`);
    }
  }
  return places;
};

/** Parameters that carry who asks, whatever the document calls them: the system's own `auth` does that. */
const CREDENTIALS = /^(?:authorization|proxy-authorization|cookie|x-api-key|api[-_]?key|access[-_]token|x-auth-token)$/i;

/** Names that the system's credential and the document's security schemes send, as `in name`. */
const schemeNames = (document: OpenApi): ReadonlySet<string> => {
  const { root } = document;
  const all = nodeOf(document.version === "2.0" ? root["securityDefinitions"] : nodeOf(root["components"])["securitySchemes"]);
  return new Set([
    ...(document.credential === undefined ? [] : [document.credential]),
    ...Object.values(all).flatMap((one) => {
      const { type, in: where, name } = nodeOf(one);
      return type === "apiKey" && typeof name === "string" ? [`${String(where)} ${name.toLowerCase()}`] : [];
    }),
  ]);
};

const isCredential = (where: unknown, name: string, node: Node, schemes: ReadonlySet<string>): boolean =>
  schemes.has(`${String(where)} ${name.toLowerCase()}`) ||
  ((where === "header" || where === "query") && CREDENTIALS.test(name)) ||
  (name.toLowerCase() === "token" && /authenticat|bearer/i.test(wordOf(node["description"]) ?? ""));

const COLLECTIONS: Readonly<Record<string, { readonly style: Style; readonly explode: boolean }>> = {
  csv: { style: "form", explode: false },
  multi: { style: "form", explode: true },
  ssv: { style: "spaceDelimited", explode: false },
  pipes: { style: "pipeDelimited", explode: false },
};

const styleOf = (value: unknown): Style | undefined => styles.find((style) => style === value && style !== "json");

/** How a parameter of Swagger 2 writes a list. */
const collectionOf = (node: Node, where: string): { readonly style?: Style; readonly explode?: boolean } => {
  if (node["type"] !== "array" || where === "path" || where === "header") {
    if (node["type"] === "array" && ![undefined, "csv"].includes(node["collectionFormat"] as string | undefined))
      throw new ImportError(`has the collection format ${shortOf(node["collectionFormat"])} in a ${where}`);
    return {};
  }
  const found = COLLECTIONS[wordOf(node["collectionFormat"]) ?? "csv"];
  if (found === undefined) throw new ImportError(`has the collection format ${shortOf(node["collectionFormat"])}`);
  return found;
};

const readParameter = (document: OpenApi, node: Node, where: "path" | "query" | "header", name: string): ReadParameter => {
  const about = { name, in: where, isRequired: where === "path" || node["required"] === true, description: wordOf(node["description"]) };
  if (document.version === "2.0") return { ...about, schema: withoutPlace(node), ...collectionOf(node, where) };
  const [content] = Object.entries(nodeOf(node["content"]));
  if (content !== undefined) {
    if (!isJsonMedia(content[0])) throw new ImportError(`has the parameter ${shortOf(name)} as ${shortOf(content[0])}`);
    return { ...about, schema: nodeOf(content[1])["schema"], style: "json" };
  }
  const explode = typeof node["explode"] === "boolean" ? { explode: node["explode"] } : {};
  return { ...about, schema: node["schema"], style: styleOf(node["style"]), ...explode, allowReserved: node["allowReserved"] === true };
};

/** A parameter of Swagger 2 is its own schema. */
const withoutPlace = ({ name: _name, in: _in, required: _required, description: _description, ...schema }: Node): Node => schema;

const MEDIA_ORDER: readonly ((media: string) => boolean)[] = [
  (media) => /^application\/json\b/i.test(media),
  (media) => media === "*/*" || media === "application/*",
  (media) => /^application\/(?:merge-patch\+json|\*\+json)$/i.test(media),
  (media) => /\+json\b/i.test(media) || /^text\/json\b/i.test(media),
  (media) => media === FORM,
  (media) => media === MULTIPART,
  (media) => isJsonMedia(media),
  (media) => /^text\/(?!xml|html)/i.test(media),
  (media) => /^(?:application\/(?:octet-stream|pdf|zip|gzip|x-tar|x-gzip)|image\/|audio\/|video\/)/i.test(media),
];

/** The form of body that is sent, of those that the document offers. Throws `ImportError` where none can be made. */
const chooseMedia = (offered: readonly string[]): string => {
  for (const fits of MEDIA_ORDER) {
    const found = offered.find((media) => fits(media.split(";")[0]?.trim() ?? ""));
    if (found !== undefined) return found;
  }
  throw new ImportError(`has a body that cannot be made: ${offered.join(", ").slice(0, 100) || "no media type"}`);
};

/** A media type that stands for several is sent as one of them. */
const sentMedia = (media: string): string => {
  const plain = media.split(";")[0]?.trim().toLowerCase() ?? "";
  if (plain === "*/*" || plain === "application/*" || plain === "application/*+json") return "application/json";
  return plain.endsWith("/*") ? "application/octet-stream" : plain;
};

const encodingOf = (document: OpenApi, media: string, node: Node, schema: unknown): Readonly<Record<string, PropertyEncoding>> => {
  if (media !== FORM && media !== MULTIPART) return {};
  const given = nodeOf(node["encoding"]);
  const properties = nodeOf(follow(document, schema)["properties"]);
  const rows = [...new Set([...Object.keys(given), ...Object.keys(properties)])].map((name): readonly [string, PropertyEncoding] => {
    const rule = nodeOf(memberOf(given, name));
    const type = wordOf(rule["contentType"])?.split(",")[0]?.split(";")[0]?.trim().toLowerCase();
    const own = follow(document, memberOf(properties, name));
    const item = own["type"] === "array" ? follow(document, own["items"]) : own;
    return [
      name,
      {
        ...(styleOf(rule["style"]) === undefined ? {} : { style: styleOf(rule["style"]) }),
        ...(typeof rule["explode"] === "boolean" ? { explode: rule["explode"] } : {}),
        ...(type === undefined || !/^[a-z]+\/[a-z0-9.+-]+$/.test(type) ? {} : { media: type }),
        ...(media === MULTIPART && isBinary(item) ? { base64: true } : {}),
      },
    ];
  });
  return Object.fromEntries(rows.filter(([, rule]) => Object.keys(rule).length > 0));
};

const isBinary = (schema: Node): boolean =>
  schema["format"] === "binary" ||
  schema["type"] === "file" ||
  (schema["contentMediaType"] !== undefined && schema["contentEncoding"] === undefined && schema["type"] !== "object");

const readContent = (document: OpenApi, body: Node): ReadBody | undefined => {
  const content = nodeOf(body["content"]);
  if (Object.keys(content).length === 0) return undefined;
  const chosen = chooseMedia(Object.keys(content));
  const node = follow(document, memberOf(content, chosen));
  const media = sentMedia(chosen);
  return {
    media,
    isRequired: body["required"] === true,
    description: wordOf(body["description"]),
    schema: node["schema"] ?? true,
    encoding: encodingOf(document, media, node, node["schema"]),
  };
};

const swaggerBody = (document: OpenApi, place: OperationPlace, rows: readonly Node[]): ReadBody | undefined => {
  const consumes = (place.operation["consumes"] ?? document.root["consumes"] ?? []) as unknown;
  const offered = listOf(consumes).filter((media): media is string => typeof media === "string");
  const whole = rows.find((row) => row["in"] === "body");
  if (whole !== undefined) {
    const media = sentMedia(chooseMedia(offered.length === 0 ? ["application/json"] : offered));
    return {
      media,
      isRequired: whole["required"] === true,
      description: wordOf(whole["description"]),
      schema: whole["schema"] ?? true,
      encoding: {},
    };
  }
  const fields = rows.filter((row) => row["in"] === "formData" && wordOf(row["name"]) !== undefined);
  if (fields.length === 0) return undefined;
  const media = fields.some((row) => row["type"] === "file") || (offered.includes(MULTIPART) && !offered.includes(FORM)) ? MULTIPART : FORM;
  return {
    media,
    isRequired: fields.some((row) => row["required"] === true),
    description: undefined,
    schema: {
      type: "object",
      properties: Object.fromEntries(
        fields.map((row) => [
          String(row["name"]),
          {
            ...withoutPlace(row),
            ...(row["type"] === "file" ? { type: "string", format: "binary" } : {}),
            description: row["description"],
          },
        ]),
      ),
      required: fields.filter((row) => row["required"] === true).map((row) => row["name"]),
    },
    encoding: Object.fromEntries(
      fields.map((row) => [String(row["name"]), row["type"] === "file" ? { base64: true } : collectionOf(row, "form")]),
    ),
  };
};

/** Responses are no part of a tool: a reference that leads nowhere costs nothing. */
const followed = (document: OpenApi, value: unknown): Node => {
  try {
    return follow(document, value);
  } catch {
    return {};
  }
};

/** Whether all that a success may answer is bytes: no JSON, no text. */
const answersBytes = (document: OpenApi, { operation }: OperationPlace): boolean => {
  const successes = Object.entries(nodeOf(operation["responses"])).filter(([status]) => status.startsWith("2"));
  const media =
    document.version === "2.0"
      ? listOf(operation["produces"] ?? document.root["produces"])
      : successes.flatMap(([, response]) => Object.keys(nodeOf(followed(document, response)["content"])));
  return (
    media.length > 0 &&
    media.every((one) => /^(?:image|audio|video|font)\/|^application\/(?:pdf|zip|gzip|octet-stream)\b/i.test(String(one)))
  );
};

/** What an operation takes, and how. Throws `ImportError` where it can be no tool. */
export const readOperation = (document: OpenApi, place: OperationPlace): ReadOperation => {
  const { method, path, item, operation } = place;
  if (!["GET", "POST", "PUT", "PATCH", "DELETE"].includes(method)) throw new ImportError(`${method} is no call of a tool`);
  const own = serversOf(operation["servers"] === undefined ? item : operation);
  if (own.length > 0 && own[0] !== document.servers[0]) throw new ImportError(`has a server of its own: ${String(own[0]).slice(0, 100)}`);
  const rows = new Map<string, Node>();
  const given = givenTo(item, operation);
  if (given.length > MAX_PARAMETERS) throw new ImportError(`has more than ${MAX_PARAMETERS} parameters`);
  for (const one of given) {
    const row = follow(document, one);
    if (String(row["name"]).length > MAX_NAME) throw new ImportError(`has a parameter whose name has more than ${MAX_NAME} characters`);
    rows.set(`${String(row["in"])} ${String(row["name"])}`, row);
  }
  const schemes = schemeNames(document);
  const parameters: ReadParameter[] = [];
  const left: string[] = [];
  let more = 0;
  const leave = (name: string, what: string): void => {
    if (left.length < MAX_LEFT) left.push(`${shortOf(name)}: ${what}`);
    else more++;
  };
  for (const row of rows.values()) {
    const name = wordOf(row["name"]);
    const where = row["in"];
    if (name === undefined || where === "body" || where === "formData") continue;
    if (isCredential(where, name, row, schemes)) leave(name, "a credential");
    else if (where === "cookie") leave(name, "a cookie");
    else if (where === "header" && CONNECTION_HEADERS.test(name)) leave(name, "a header of the connection");
    else if (where === "header" && ROUTING_HEADERS.test(name)) leave(name, "a header that makes another request of it");
    else if (where === "path" || where === "query" || where === "header") parameters.push(readParameter(document, row, where, name));
    else throw new ImportError(`has a parameter in ${String(where).slice(0, 40)}`);
  }
  for (const [, name = ""] of path.matchAll(/\{([^{}]*)\}/g))
    if (!parameters.some((parameter) => parameter.in === "path" && parameter.name === name))
      throw new ImportError(`does not say what fills {${shortOf(name)}}`);
  if (more > 0) left.push(`${more} more parameters that callers do not send`);
  const body =
    document.version === "2.0"
      ? swaggerBody(document, place, [...rows.values()])
      : readContent(document, follow(document, operation["requestBody"]));
  const answered = { answersBytes: answersBytes(document, place) };
  if (method !== "GET" || body === undefined) return { parameters, body, left, ...answered };
  return { parameters, ...answered, body: undefined, left: [...left, "the body: GET has none"] };
};

import { isObject } from "#contract/is-object.ts";
import { Problem } from "#contract/problem.ts";
import { correlationIdOf } from "#http/correlation-id.ts";
import { namesState, tagsOf } from "#http/entity-tags.ts";
import { readBytes } from "#http/read-bytes.ts";
import { parseStrictJson } from "#http/strict-json.ts";
import { createTurns } from "#http/turns.ts";
import type { Sql } from "#store/database.ts";
import { doneEntry } from "#membership/delegations/acts.ts";
import type { MembershipRoom } from "#membership/room.ts";
import type { GraphTransaction } from "#membership/graph/write.ts";
import { readAttributes, readFilter } from "./scim-filter.ts";
import { asClientFault, scimErrorOf, ScimError } from "./scim-error.ts";
import { listOf, MOST_RESULTS, resourceTypes, schemaList, serviceProviderConfig, type ScimType } from "./scim-schemas.ts";
import { countResources, lockResource, nodeIdOf, readLinks, readPage, readResource, type ScimRow, type Sought } from "./scim-store.ts";
import { requireScimTenant } from "./scim-tokens.ts";
import { documentOf, filteredOf, patchedDocument, tagOfResource, viewOf, type Attributes } from "./scim-view.ts";
import { namesShared } from "./shared-names.ts";
import { createResource, removeResource, replaceResource } from "./write-resource.ts";

const PREFIX = "/scim/v2";
const MOST_BYTES = 1_048_576;
const MOST_MEMBERS = 50_000;
/** Resources that one filter which the database cannot answer looks through, and how many at a stretch. */
const MOST_SCANNED = 20_000;
const AT_ONCE = 250;
const pause = createTurns(5);

interface Call {
  readonly tenant: string;
  readonly request: Request;
  readonly url: URL;
  /** Address of `/scim/v2` as the client sees it. */
  readonly base: string;
  readonly correlationId: string;
}

const json = (status: number, body: object, headers: Readonly<Record<string, string>> = {}): Response =>
  new Response(JSON.stringify(body), {
    status,
    headers: { "content-type": "application/scim+json", "cache-control": "no-store", "x-content-type-options": "nosniff", ...headers },
  });

const bodyOf = async ({ request }: Call): Promise<unknown> => {
  const media = (request.headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase();
  if (media !== "application/scim+json" && media !== "application/json") throw new Problem("unsupported_media_type");
  const body = parseStrictJson(await readBytes(request, MOST_BYTES), { depth: 32, members: MOST_MEMBERS });
  if (namesShared(body))
    throw new ScimError(400, "invalidSyntax", "A member has a name that every object has, such as __proto__: no attribute is called so.");
  return body;
};

const wholeNumber = (url: URL, name: string, standard: number): number => {
  const text = url.searchParams.get(name);
  if (text === null) return standard;
  if (!/^-?\d{1,9}$/.test(text)) throw new ScimError(400, "invalidValue", `${name} must be a whole number.`);
  return Number(text);
};

/** A search that comes as a body (RFC 7644, 3.4.3), as the query that says the same. */
const searchOf = (url: URL, sent: unknown): URL => {
  if (!isObject(sent)) throw new ScimError(400, "invalidSyntax", "Send a SearchRequest.");
  const search = new URL(url.pathname, url);
  for (const name of ["filter", "startIndex", "count", "attributes", "excludedAttributes"]) {
    const value = sent[name];
    if (value === undefined || value === null) continue;
    search.searchParams.set(name, Array.isArray(value) ? value.join(",") : typeof value === "string" ? value : JSON.stringify(value));
  }
  return search;
};

/** The origin of the house that the gateway was asked at. Whoever asks here directly may send the same headers, so no other is believed. */
const originOf = ({ headers }: Request, publicOrigins: readonly string[]): string | undefined => {
  const said = `${headers.get("x-forwarded-proto")}://${headers.get("x-forwarded-host")}`;
  const origin = URL.canParse(said) ? new URL(said).origin : undefined;
  return publicOrigins.find((one) => one === origin);
};

/** `/scim/v2` of RFC 7643 and 7644: a directory pushes its users and groups with a token of its own; they are persons, accounts and groups of the graph. */
export const createScim = (
  room: Pick<MembershipRoom, "database" | "write" | "log">,
  publicOrigins: readonly string[],
): ((request: Request) => Promise<Response>) => {
  const { database } = room;

  const attributesOf = ({ url }: Call) => readAttributes(url.searchParams.get("attributes"), url.searchParams.get("excludedAttributes"));
  const wantsLinks = ({ url }: Call): boolean => {
    const names = (parameter: string): boolean | undefined =>
      url.searchParams
        .get(parameter)
        ?.split(",")
        .some((name) => /^(?:urn:.*:)?(?:members|groups)(?:\.|$)/i.test(name.trim()));
    return names("attributes") ?? names("excludedAttributes") !== true;
  };
  const linksOf = (sql: Sql, type: ScimType, rows: readonly ScimRow[]) => {
    const ids = rows.map(({ id }) => id);
    return readLinks(sql, type, ids);
  };
  const viewsOf = async (call: Call, type: ScimType, rows: readonly ScimRow[], attributes = attributesOf(call)) => {
    const wanted = { links: wantsLinks(call), attributes };
    // No version is told without them, even where nobody wants to see them.
    const links = await linksOf(database, type, rows);
    const views: { readonly tag: string; readonly body: object }[] = [];
    for (const row of rows) {
      const of = links.get(row.id) ?? [];
      views.push({ tag: tagOfResource(row, of), body: viewOf(type, row, of, call.base, wanted) });
      await pause();
    }
    return views;
  };
  const page = async (call: Call, type: ScimType, rows: readonly ScimRow[], total: number, start: number, attributes: Attributes) => {
    const views = await viewsOf(call, type, rows, attributes);
    const items = views.map(({ body }) => body);
    return json(200, listOf(items, total, start));
  };
  const shown = async (call: Call, type: ScimType, row: ScimRow, status = 200): Promise<Response> => {
    const [{ tag, body } = { tag: "", body: {} }] = await viewsOf(call, type, [row]);
    const { method, headers } = call.request;
    if (method === "GET" && namesState(tagsOf(headers, "if-none-match"), tag))
      return new Response(null, { status: 304, headers: { etag: tag } });
    // Relative: the gateway lets no service point to an address.
    const location = `${PREFIX}/${type}s/${row.id.slice(row.id.lastIndexOf(":") + 1)}`;
    return json(status, body, { etag: tag, ...(status === 201 ? { location } : {}) });
  };

  const list = async (call: Call, type: ScimType): Promise<Response> => {
    const text = call.url.searchParams.get("filter");
    const filter = text === null ? undefined : readFilter(text);
    const start = Math.max(wholeNumber(call.url, "startIndex", 1), 1);
    const count = Math.min(Math.max(wholeNumber(call.url, "count", 100), 0), MOST_RESULTS);
    const attributes = attributesOf(call);
    const { by, value } = filter?.lookup ?? { by: "all" as const, value: "" };
    const sought: Sought = { tenant: call.tenant, type, by, value: by === "id" ? nodeIdOf(type, value) : value };
    if (filter === undefined || filter.lookup !== undefined) {
      const total = await countResources(database, sought);
      const rows = count === 0 ? [] : await readPage(database, sought, { limit: count, offset: start - 1 });
      return page(call, type, rows, total, start, attributes);
    }
    const found: ScimRow[] = [];
    let after = "";
    for (let seen = 0; ; seen += AT_ONCE) {
      if (seen >= MOST_SCANNED)
        throw new ScimError(400, "tooMany", "This filter would look through too many resources: ask for one attribute by eq.");
      const rows = await readPage(database, sought, { after, limit: AT_ONCE });
      const links = await linksOf(database, type, rows);
      for (const row of rows) {
        if (filter.match(filteredOf(type, row, links.get(row.id) ?? [], call.base))) found.push(row);
        await pause();
      }
      if (rows.length < AT_ONCE) break;
      after = rows.at(-1)?.id ?? after;
    }
    return page(call, type, found.slice(start - 1, start - 1 + count), found.length, start, attributes);
  };

  const requireResource = (row: ScimRow | undefined): ScimRow => {
    if (row === undefined) throw new Problem("not_found");
    return row;
  };
  const write = async (
    call: Call,
    op: string,
    work: (tx: GraphTransaction) => Promise<ScimRow | undefined>,
  ): Promise<ScimRow | undefined> => {
    const actor = `service:scim:${call.tenant}`;
    const by = { actor, source: "sync", correlationId: call.correlationId, tenantId: call.tenant, roles: "provision" } as const;
    const { value } = await room.write(by, async (tx) => {
      const row = await work(tx);
      const about = row === undefined ? call.url.pathname.slice(PREFIX.length + 1) : row.id;
      return {
        value: row,
        entries: () => [
          doneEntry({
            tenant: call.tenant,
            category: "governance",
            actor: { subject: actor, kind: "service" },
            resource: { type: "identities", id: about },
            correlationId: call.correlationId,
            data: { op },
          }),
        ],
      };
    });
    return value;
  };

  const serveOne = async (call: Call, type: ScimType, id: string): Promise<Response> => {
    const { tenant, request } = call;
    const nodeId = nodeIdOf(type, id);
    const tags = tagsOf(request.headers, "if-match");
    if (request.method === "GET") return shown(call, type, requireResource(await readResource(database, tenant, type, nodeId)));
    const locked = async (tx: GraphTransaction): Promise<ScimRow> => {
      const row = requireResource(await lockResource(tx.sql, tenant, type, nodeId));
      const links = tags === null ? [] : ((await linksOf(tx.sql, type, [row])).get(row.id) ?? []);
      if (tags !== null && !namesState(tags, tagOfResource(row, links)))
        throw new ScimError(412, undefined, "It was changed meanwhile: read it again.");
      return row;
    };
    if (request.method === "DELETE") {
      await write(call, `scim_${type.toLowerCase()}_removed`, async (tx) => {
        await removeResource(tx, tenant, type, await locked(tx));
        return undefined;
      });
      return new Response(null, { status: 204 });
    }
    const sent = await bodyOf(call);
    const changed = await write(call, `scim_${type.toLowerCase()}_changed`, async (tx) => {
      const row = await locked(tx);
      const document =
        request.method === "PUT"
          ? documentOf(type, sent)
          : await patchedDocument(type, row, (await linksOf(tx.sql, type, [row])).get(row.id) ?? [], sent, call.base);
      return replaceResource(tx, tenant, type, row, document);
    });
    return shown(call, type, requireResource(changed));
  };

  const allowed = (method: string, methods: readonly string[]): void => {
    if (!methods.includes(method)) throw new Problem("method_not_allowed", { headers: { allow: methods.join(", ") } });
  };

  const serve = async (call: Call): Promise<Response> => {
    const { request, url, base } = call;
    const [name = "", id, ...rest] = url.pathname.slice(PREFIX.length + 1).split("/");
    if (rest.length > 0 || id === "") throw new Problem("not_found");
    if (name === "Users" || name === "Groups") {
      const type = name === "Users" ? "User" : "Group";
      if (id !== undefined) {
        if (id === ".search") {
          allowed(request.method, ["POST"]);
          return list({ ...call, url: searchOf(url, await bodyOf(call)) }, type);
        }
        allowed(request.method, ["GET", "PUT", "PATCH", "DELETE"]);
        if (!/^[a-z2-7]{26}$/.test(id)) throw new Problem("not_found");
        return serveOne(call, type, id);
      }
      allowed(request.method, ["GET", "POST"]);
      if (request.method === "GET") return list(call, type);
      const document = documentOf(type, await bodyOf(call));
      const made = await write(call, `scim_${type.toLowerCase()}_made`, (tx) => createResource(tx, call.tenant, type, document));
      return shown(call, type, requireResource(made), 201);
    }
    allowed(request.method, ["GET"]);
    if (name === "ServiceProviderConfig" && id === undefined) return json(200, serviceProviderConfig(base));
    const described = name === "Schemas" ? schemaList(base) : name === "ResourceTypes" ? resourceTypes(base) : undefined;
    if (described === undefined) throw new Problem("not_found");
    if (url.searchParams.has("filter")) throw new ScimError(403, undefined, "These are not filtered.");
    if (id === undefined) return json(200, listOf(described));
    const wanted = asClientFault("invalidSyntax", () => decodeURIComponent(id));
    const one = described.find((item) => (item as { id?: unknown }).id === wanted);
    if (one === undefined) throw new Problem("not_found");
    return json(200, one);
  };

  return async (request) => {
    const correlationId = correlationIdOf(request.headers.get("x-correlation-id"));
    try {
      const url = new URL(request.url);
      const origin = originOf(request, publicOrigins) ?? url.origin;
      const tenant = await requireScimTenant(database, request.headers.get("authorization"));
      return await serve({ tenant, request, url, base: `${origin}${PREFIX}`, correlationId });
    } catch (error) {
      const { status, body, headers } = scimErrorOf(error);
      if (status >= 500) room.log.error("scim_failed", { correlation_id: correlationId, error });
      return json(status, body, { ...headers, "x-correlation-id": correlationId });
    }
  };
};

export const isScimPath = (path: string): boolean => path === PREFIX || path.startsWith(`${PREFIX}/`);

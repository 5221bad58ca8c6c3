import { isObject } from "#contract/is-object.ts";
import { Problem } from "#contract/problem.ts";
import { asProblem } from "#http/problem-body.ts";
import { correlationIdOf } from "#http/correlation-id.ts";
import { namesState, tagsOf } from "#http/entity-tags.ts";
import { readBytes } from "#http/read-bytes.ts";
import { strictJsonSteps } from "#http/strict-json.ts";
import { SCIM_PREFIX } from "#http/scim-refusal.ts";
import { createYielding, yielding } from "#http/yielding.ts";
import { doneEntry } from "#membership/delegations/acts.ts";
import type { MembershipContext } from "#membership/context/context.ts";
import type { Sql } from "#store/database.ts";
import type { GraphTransaction } from "#membership/graph/write.ts";
import { activeSteps, readDocument, undone, type Ignored } from "./scim-document.ts";
import { scimErrorOf, ScimError } from "./scim-error.ts";
import { createWork, matches, readFilter } from "./scim-filter.ts";
import { memberIds, noMember } from "./scim-nodes.ts";
import { patched, type MemberChange, type Patched } from "./scim-patch.ts";
import {
  LIST,
  listOf,
  MAX_RESULTS,
  resourceTypes,
  schemaList,
  serviceProviderConfig,
  type ScimDocument,
  type ScimType,
} from "./scim-schemas.ts";
import {
  countResources,
  lockResource,
  nodeIdOf,
  readLinks,
  readNamedLinks,
  readPage,
  readResource,
  type Links,
  type ScimRow,
  type Sought,
} from "./scim-store.ts";
import { reportProblem, requireScimTenant, type ScimClient } from "./scim-tokens.ts";
import { filteredOf, needsLinks, selectionOf, tagOfResource, viewOf, type Selection } from "./scim-view.ts";
import { unfitSteps } from "./shared-names.ts";
import { createResource, planMembers, removeResource, replaceResource, type MemberPart } from "./write-resource.ts";

const MAX_BYTES = 1_048_576;
/** A group is sent with everybody in it. */
const MAX_MEMBERS = 50_000;
/** Resources that one filter which the database cannot answer looks through, and how many at a stretch. */
const MAX_SCANNED = 20_000;
const AT_ONCE = 250;
/** Members of all groups of one page; a page with more has fewer groups. */
const MAX_PAGE_LINKS = 20_000;
/** Members of a group that a PATCH is answered with; with more the answer is 204. */
const MAX_PATCHED_LINKS = 1_000;
/** How often a PATCH is computed anew because somebody else changed the resource meanwhile. */
const MAX_ATTEMPTS = 10;
const pause = createYielding(5);
/** Thrown to leave a transaction whose resource is another one meanwhile. */
const stale = new Error("the resource changed meanwhile");
const NOBODY: MemberChange = { isWhole: true, added: new Set(), removed: new Set() };
const NOTHING = "Nothing of this message is done.";
const changedByOthers = (): ScimError => new ScimError(409, undefined, "It is being changed by others: send it again.");

interface Call {
  readonly tenant: string;
  readonly client: ScimClient;
  readonly request: Request;
  readonly url: URL;
  /** Address of `/scim/v2` as the client sees it. */
  readonly base: string;
  readonly correlationId: string;
}

const json = (status: number, body: object | string, headers: Readonly<Record<string, string>> = {}): Response =>
  new Response(typeof body === "string" ? body : JSON.stringify(body), {
    status,
    headers: { "content-type": "application/scim+json", "cache-control": "no-store", "x-content-type-options": "nosniff", ...headers },
  });

/** What bodies are sent as; some name none. */
const MEDIA: ReadonlySet<string> = new Set(["application/scim+json", "application/json", "text/json", ""]);

/** A body, and what is wrong with one that can be read nevertheless. */
const readBody = async ({ request }: Call): Promise<{ readonly sent: unknown; readonly issue: Error | undefined }> => {
  const issues: Error[] = [];
  const onIssue = (issue: () => Error): void => void (issues.length === 0 && issues.push(issue()));
  const media = (request.headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase();
  if (!MEDIA.has(media ?? "")) onIssue(() => new Problem("unsupported_media_type"));
  const limits = { depth: 32, members: MAX_MEMBERS, keepsUnfit: true, keepsSpelling: true, onIssue };
  const bytes = await readBytes(request, MAX_BYTES);
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  const sent = await yielding(strictJsonSteps(hasMark ? bytes.subarray(3) : bytes, limits), pause);
  const unfit = issues.length > 0 ? undefined : await yielding(unfitSteps(sent), pause);
  if (unfit !== undefined) onIssue(() => new ScimError(400, "invalidSyntax", unfit));
  return { sent, issue: issues[0] };
};

const bodyOf = async (call: Call): Promise<unknown> => {
  const { sent, issue } = await readBody(call);
  if (issue !== undefined) throw issue;
  return sent;
};

const saidOf = async (type: ScimType, sent: unknown): Promise<boolean | undefined> =>
  type === "User" ? yielding(activeSteps(sent), pause) : undefined;

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ScimError(400, "invalidSyntax", "The address is not percent-encoded as it should be.");
  }
};

const wholeNumber = (url: URL, name: string, standard: number): number => {
  const text = url.searchParams.get(name);
  if (text === null) return standard;
  if (!/^-?\d{1,9}(?:\.0+)?$/.test(text)) throw new ScimError(400, "invalidValue", `${name} must be a whole number.`);
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

/** Looks whether `If-Match` names a resource as it is; of more than `most` links it was looked at before. Throws 412. */
const tagCheck =
  (type: ScimType, tags: string | null) =>
  async (sql: Sql, row: ScimRow, max = Infinity): Promise<void> => {
    if (tags === null) return;
    const { links, cutAt } = await readLinks(sql, type, [row.id], max);
    if (cutAt === undefined && !namesState(tags, await tagOfResource(row, links.get(row.id) ?? [])))
      throw new ScimError(412, undefined, "It was changed meanwhile: read it again.");
  };

/** The origin of Sallyport that the gateway was asked at. Whoever asks here directly may send the same headers, so no other is believed. */
const originOf = ({ headers }: Request, publicOrigins: readonly string[]): string | undefined => {
  const said = `${headers.get("x-forwarded-proto")}://${headers.get("x-forwarded-host")}`;
  const origin = URL.canParse(said) ? new URL(said).origin : undefined;
  return publicOrigins.find((one) => one === origin);
};

/** `/scim/v2` of RFC 7643 and 7644: a directory pushes its users and groups with a token of its own; they are persons, accounts and groups of the graph. */
export const createScim = (
  context: Pick<MembershipContext, "database" | "write" | "log">,
  publicOrigins: readonly string[],
): ((request: Request) => Promise<Response>) => {
  const { database } = context;

  const textOf = async (call: Call, type: ScimType, rows: readonly ScimRow[], { links }: Links, selection: Selection | undefined) => {
    const views: { readonly tag: string; readonly text: string }[] = [];
    for (const row of rows) {
      views.push(await viewOf(type, row, links.get(row.id) ?? [], { base: call.base, selection }));
      await pause();
    }
    return views;
  };
  const page = async (call: Call, type: ScimType, found: readonly ScimRow[], total: number, start: number) => {
    const selection = selectionOf(type, call.url);
    const ids = found.map(({ id }) => id);
    let [rows, links]: [readonly ScimRow[], Links] = [found, { links: new Map() }];
    if (needsLinks(type, selection)) links = await readLinks(database, type, ids, MAX_PAGE_LINKS);
    const { cutAt } = links;
    if (cutAt !== undefined) {
      rows = found.filter(({ id }) => id < cutAt);
      if (rows.length === 0) [rows, links] = [found.slice(0, 1), await readLinks(database, type, ids.slice(0, 1))];
    }
    const views = await textOf(call, type, rows, links, selection);
    const head = { schemas: [LIST], totalResults: total, startIndex: start, itemsPerPage: rows.length };
    return json(200, `${JSON.stringify(head).slice(0, -1)},"Resources":[${views.map(({ text }) => text).join(",")}]}`);
  };
  const shown = async (call: Call, type: ScimType, row: ScimRow, status = 200): Promise<Response> => {
    const { method, headers } = call.request;
    const links = await readLinks(database, type, [row.id], method === "PATCH" ? MAX_PATCHED_LINKS : Infinity);
    if (links.cutAt !== undefined) return new Response(null, { status: 204 });
    const [{ tag, text } = { tag: "", text: "" }] = await textOf(call, type, [row], links, selectionOf(type, call.url));
    if (method === "GET" && namesState(tagsOf(headers, "if-none-match"), tag))
      return new Response(null, { status: 304, headers: { etag: tag } });
    // Relative: the gateway lets no service point to an address.
    const location = `${SCIM_PREFIX}/${type}s/${row.id.slice(row.id.lastIndexOf(":") + 1)}`;
    return json(status, text, { etag: tag, ...(status === 201 ? { location } : {}) });
  };

  const list = async (call: Call, type: ScimType): Promise<Response> => {
    const text = call.url.searchParams.get("filter");
    const filter = text === null ? undefined : readFilter(type, text);
    const start = Math.max(wholeNumber(call.url, "startIndex", 1), 1);
    const count = Math.min(Math.max(wholeNumber(call.url, "count", 100), 0), MAX_RESULTS);
    const { by, value } = filter?.lookup ?? { by: "all" as const, value: "" };
    const sought: Sought = { tenant: call.tenant, type, by, value: by === "id" ? nodeIdOf(type, value) : value };
    if (filter === undefined || filter.isLookup) {
      const total = await countResources(database, sought);
      const rows = count === 0 ? [] : await readPage(database, sought, { limit: count, offset: start - 1 });
      return page(call, type, rows, total, start);
    }
    const found: ScimRow[] = [];
    let [after, total] = ["", 0];
    const work = createWork();
    for (let seen = 0; ; seen += AT_ONCE) {
      if (seen >= MAX_SCANNED)
        throw new ScimError(400, "tooMany", "This filter would look through too many resources: ask for one attribute by eq.");
      const rows = await readPage(database, sought, { after, limit: AT_ONCE });
      const ids = rows.map(({ id }) => id);
      const { links } = await readNamedLinks(database, type, ids, filter.linkedIds);
      for (const row of rows) {
        call.request.signal.throwIfAborted();
        work.begin();
        if (matches(filter.filter, filteredOf(type, row, links.get(row.id) ?? []), work)) {
          total += 1;
          if (total >= start && found.length < count) found.push(row);
        }
        await pause();
      }
      if (rows.length < AT_ONCE) break;
      after = rows.at(-1)?.id ?? after;
    }
    return page(call, type, found, total, start);
  };

  const requireResource = (row: ScimRow | undefined): ScimRow => {
    if (row === undefined) throw new Problem("not_found");
    return row;
  };
  const write = async <Row extends ScimRow | undefined>(
    call: Call,
    op: string,
    work: (tx: GraphTransaction) => Promise<Row>,
  ): Promise<Row> => {
    const actor = `service:scim:${call.tenant}`;
    const by = { actor, source: "sync", correlationId: call.correlationId, tenantId: call.tenant, roles: "directory" } as const;
    const { value } = await context.write(by, async (tx) => {
      const row = await work(tx);
      const about = row === undefined ? call.url.pathname.slice(SCIM_PREFIX.length + 1) : row.id;
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

  const report = (call: Call, detail: string): Promise<void> =>
    reportProblem(database, call.client, call.url.pathname.slice(SCIM_PREFIX.length + 1), detail);
  /** A refusal that says what was done of its message, to the token's owner too. */
  const refused = async (call: Call, error: unknown, done: string): Promise<unknown> => {
    const { status, scimType, detail, headers } = scimErrorOf(error);
    if (Object.keys(headers).length > 0) return error;
    const words = `${detail.replace(/\.?$/, ".")} ${done}`;
    await report(call, words);
    return status >= 500 ? error : new ScimError(status, scimType, words);
  };
  const reportIgnored = async (call: Call, ignored: Ignored, said: boolean | undefined): Promise<void> => {
    const names = undone(ignored, said);
    if (names.length > 0) await report(call, `Not stored: ${names.join(", ")}.`);
  };

  const strange = (): never => {
    throw noMember();
  };
  const computed = async (method: string, type: ScimType, held: ScimDocument, sent: unknown, ignored: Ignored): Promise<Patched> => {
    if (method === "PATCH") return patched(type, held, sent, ignored);
    const { members, ...document } = readDocument(type, sent, ignored);
    if (type === "Group") return { document, members: { isWhole: true, added: memberIds(members, strange), removed: new Set() } };
    return { document: { active: held["active"] ?? true, ...document } };
  };
  /** Members beyond the first part, each part in a transaction of its own. */
  const settle = async (call: Call, row: ScimRow, parts: readonly MemberPart[], isWhole: boolean): Promise<ScimRow> => {
    let last = row;
    for (const part of parts)
      last = await write(call, "scim_group_changed", async (tx) => {
        const now = requireResource(await lockResource(tx.sql, call.tenant, "Group", row.id));
        // Two who say who all the members are do not mix.
        if (isWhole && now.rev !== last.rev) throw changedByOthers();
        return replaceResource(tx, call.tenant, now, { type: "Group", document: now.document, members: part });
      });
    return last;
  };
  /** Computed before the transaction, which takes it only where the resource still is what it was computed from. */
  const change = async (
    call: Call,
    type: ScimType,
    work: {
      readonly nodeId: string;
      readonly requireTag: ReturnType<typeof tagCheck>;
      readonly said: boolean | undefined;
      readonly compute: (held: ScimDocument) => Promise<Patched>;
    },
  ): Promise<ScimRow> => {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const before = requireResource(await readResource(database, call.tenant, type, work.nodeId));
      await work.requireTag(database, before);
      const { document, members, issue } = await work.compute(before.document);
      const isWhole = members?.isWhole === true;
      const held = JSON.stringify(before.document);
      // True counts where it is read as RFC 7644 says; false by whatever name or form.
      const said = work.said === true && document["active"] !== true ? undefined : work.said;
      const active = said === false ? { active: false } : {};
      let changed: ScimRow | undefined;
      try {
        if (issue !== undefined) throw issue;
        const [first, ...rest] = members === undefined ? [] : await planMembers(database, call.tenant, work.nodeId, members);
        changed = await write(call, `scim_${type.toLowerCase()}_changed`, async (tx) => {
          const row = requireResource(await lockResource(tx.sql, call.tenant, type, work.nodeId));
          await work.requireTag(tx.sql, row, MAX_PATCHED_LINKS);
          if (isWhole ? row.rev !== before.rev : JSON.stringify(row.document) !== held) throw stale;
          return replaceResource(tx, call.tenant, row, { type, document: { ...document, ...active }, members: first, said });
        });
        return await settle(call, changed, rest, isWhole);
      } catch (error) {
        if (error === stale) continue;
        if (members === undefined) throw error;
        // Who is to lose what the group gives loses it, whatever else of the message cannot be done.
        const parts = await planMembers(database, call.tenant, work.nodeId, { ...members, isRemoval: true });
        const isDone = await settle(call, changed ?? before, parts, isWhole).then(
          () => parts.length > 0,
          () => false,
        );
        if (!isDone && changed !== undefined) throw error;
        throw await refused(call, error, isDone ? "Of this message the removal of members is done." : NOTHING);
      }
    }
    throw changedByOthers();
  };
  const switchOff = (call: Call, nodeId: string): Promise<ScimRow> =>
    write(call, "scim_user_changed", async (tx) => {
      const now = requireResource(await lockResource(tx.sql, call.tenant, "User", nodeId));
      const document = { ...now.document, active: false };
      return replaceResource(tx, call.tenant, now, { type: "User", document, said: false });
    });
  const serveOne = async (call: Call, type: ScimType, id: string): Promise<Response> => {
    const { tenant, request } = call;
    const nodeId = nodeIdOf(type, id);
    const requireTag = tagCheck(type, tagsOf(request.headers, "if-match"));
    if (request.method === "GET") return shown(call, type, requireResource(await readResource(database, tenant, type, nodeId)));
    if (request.method === "DELETE") {
      const row = requireResource(await readResource(database, tenant, type, nodeId));
      await requireTag(database, row);
      const parts = type === "User" ? [] : await planMembers(database, tenant, nodeId, NOBODY);
      await settle(call, row, parts.slice(0, -1), false);
      await write(call, `scim_${type.toLowerCase()}_removed`, async (tx) => {
        const now = requireResource(await lockResource(tx.sql, tenant, type, nodeId));
        if (parts.length < 2) await requireTag(tx.sql, now, MAX_PATCHED_LINKS);
        await removeResource(tx, tenant, type, now);
        return undefined;
      }).catch(async (error: unknown) => {
        if (type === "Group" || asProblem(error).code !== "access_denied") throw error;
        await switchOff(call, nodeId);
        throw await refused(call, error, "The user is suspended and nothing else is done.");
      });
      return new Response(null, { status: 204 });
    }
    const { sent, issue } = await readBody(call).catch(async (error: unknown) => {
      throw await refused(call, error, NOTHING);
    });
    const said = await saidOf(type, sent);
    const ignored: Ignored = new Set();
    const done = async (): Promise<ScimRow> => {
      if (issue !== undefined) throw issue;
      selectionOf(type, call.url);
      const compute = (held: ScimDocument): Promise<Patched> =>
        computed(request.method, type, held, sent, ignored).catch(async (error: unknown) => {
          throw type === "Group" ? await refused(call, error, NOTHING) : error;
        });
      return change(call, type, { nodeId, requireTag, said, compute });
    };
    const row = await done().catch(async (error: unknown) => {
      if (said !== false) throw error;
      // Whatever else is wrong in the message, somebody who is to be shut out is.
      await switchOff(call, nodeId);
      throw await refused(call, error, "Of this message active: false is done and nothing else.");
    });
    await reportIgnored(call, ignored, said);
    if (said === true && row.state !== "active") await report(call, "active: true wakes nobody whom somebody else switched off.");
    return shown(call, type, row);
  };

  const allowed = (method: string, methods: readonly string[]): void => {
    if (!methods.includes(method)) throw new Problem("method_not_allowed", { headers: { allow: methods.join(", ") } });
  };

  const serve = async (call: Call): Promise<Response> => {
    const { request, url, base } = call;
    const [name = "", id, ...rest] = url.pathname.slice(SCIM_PREFIX.length + 1).split("/");
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
      selectionOf(type, url);
      const ignored: Ignored = new Set();
      const sent = await bodyOf(call);
      const said = await saidOf(type, sent);
      const { document, members } = await computed("POST", type, {}, sent, ignored);
      const [first, ...rest] = members === undefined ? [] : await planMembers(database, call.tenant, "", members);
      const draft = { document: said === false ? { ...document, active: false } : document, members: first };
      const made = await write(call, `scim_${type.toLowerCase()}_made`, (tx) => createResource(tx, call.tenant, type, draft));
      await reportIgnored(call, ignored, said);
      return shown(call, type, await settle(call, made, rest, true), 201);
    }
    allowed(request.method, ["GET"]);
    if (name === "ServiceProviderConfig" && id === undefined) return json(200, serviceProviderConfig(base));
    const described = name === "Schemas" ? schemaList(base) : name === "ResourceTypes" ? resourceTypes(base) : undefined;
    if (described === undefined) throw new Problem("not_found");
    if (url.searchParams.has("filter")) throw new ScimError(403, undefined, "These are not filtered.");
    if (id === undefined) return json(200, listOf(described));
    const wanted = decoded(id);
    const one = described.find((item) => (item as { id?: unknown }).id === wanted);
    if (one === undefined) throw new Problem("not_found");
    return json(200, one);
  };

  return async (request) => {
    const correlationId = correlationIdOf(request.headers.get("x-correlation-id"));
    try {
      const url = new URL(request.url);
      const origin = originOf(request, publicOrigins) ?? url.origin;
      const client = await requireScimTenant(database, request.headers.get("authorization"));
      return await serve({ tenant: client.tenant, client, request, url, base: `${origin}${SCIM_PREFIX}`, correlationId });
    } catch (error) {
      const { status, body, headers } = scimErrorOf(error);
      // Of a client that is gone nobody needs to know.
      if (status >= 500 && !request.signal.aborted) context.log.error("scim_failed", { correlation_id: correlationId, error });
      return json(status, body, { ...headers, "x-correlation-id": correlationId });
    }
  };
};

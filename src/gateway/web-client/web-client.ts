import { namesState, tagsOf } from "#http/entity-tags.ts";
import { Problem } from "#contract/problem.ts";
import type { Principal } from "#pdp-client/pdp-client.ts";
import type { Steps } from "#gateway/steps/steps.ts";
import type { Inbound } from "#gateway/model/inbound.ts";
import { problemPage, wantsHtml } from "#gateway/model/plain-page.ts";
import type { BuiltFiles, BuiltFile } from "./built-files.ts";
import { clientPageAt, isReserved, type ClientPage } from "#gateway/routes/client-pages.ts";
import { indexResponse } from "./index-response.ts";

/** The codings that the client takes, with `q=0` as a no. */
const accepts = (header: string | undefined, coding: string): boolean =>
  (header ?? "").split(",").some((item) => {
    const [name, ...parameters] = item.split(";").map((part) => part.trim().toLowerCase());
    return name === coding && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
  });

/** A file whose name holds its digest: never changes, so it is kept for a year. */
const assetResponse = (file: BuiltFile, inbound: Inbound): Response => {
  const accepted = inbound.headers.get("accept-encoding");
  const [coding, content] =
    file.br !== undefined && accepts(accepted, "br")
      ? (["br", file.br] as const)
      : file.gzip !== undefined && accepts(accepted, "gzip")
        ? (["gzip", file.gzip] as const)
        : ([undefined, file.plain] as const);
  const etag = `"${file.etag}${coding === undefined ? "" : `-${coding}`}"`;
  const headers = new Headers({
    "content-type": file.type,
    "cache-control": "public, max-age=31536000, immutable",
    etag,
    vary: "Accept-Encoding",
  });
  if (namesState(tagsOf(inbound.headers, "if-none-match"), etag)) return new Response(null, { status: 304, headers });
  if (coding !== undefined) headers.set("content-encoding", coding);
  headers.set("content-length", String(content.byteLength));
  return new Response(content, { headers });
};

export interface WebClient {
  asset(name: string, inbound: Inbound): Promise<Response>;
  /** Whether a path is one of its pages: no row of the table comes before those, a catch-all neither. */
  has(path: string): boolean;
  /** The page for what no route serves; throws `not_found` for what is no page, `rate_limited`. `as` = for whom, in place of the session. */
  page(inbound: Inbound, as?: Principal): Promise<Response>;
}

type PageStatus = readonly [status: number, headers?: Readonly<Record<string, string>> | undefined, refusedBy?: unknown];

/** True for a document load by a browser, or a tool that takes anything. */
const mayGetPage = (inbound: Inbound, page: ClientPage | undefined): boolean =>
  wantsHtml(inbound) || (page !== undefined && /^$|\*\/\*/.test(inbound.headers.get("accept") ?? ""));

/**
 * The web client at its own paths. The page holds nothing but itself; what a person may see is decided at the endpoints
 * behind it. Yet a signed-in person who opens a screen that they may not see gets the page with 403, so that the address
 * says the same as the screen.
 */
export const createWebClient = (
  parts: Pick<Steps, "recogniser" | "rate" | "pdpClient"> & {
    readonly files: BuiltFiles;
    /** Which modules are on for somebody; throws when it cannot be known. */
    readonly modulesOf: (principal: Principal, correlationId: string) => Promise<Readonly<Record<string, boolean>>>;
  },
): WebClient => {
  /**
   * Status of the page: 200, 401 with the challenge where the screen wants a stronger sign-in, 403 denied, 404 module off, 503 not
   * decidable. Without a session there is nothing to gate. Who comes too often is `rate_limited`: it is a session and a decision like
   * any other.
   */
  const statusOf = async (gate: ClientPage["gate"], inbound: Inbound, as: Principal | undefined): Promise<PageStatus> => {
    if (gate === undefined) return [200];
    if (as === undefined && !parts.recogniser.hasCookie(inbound)) return [200];
    let principal: Principal;
    try {
      principal = as ?? (await parts.rate.requireByCaller(inbound, "session", () => parts.recogniser.session(inbound))).principal;
    } catch (error) {
      if (!(error instanceof Problem)) return [503];
      if (error.code === "rate_limited") throw error;
      return [error.status === 401 ? 200 : 503];
    }
    try {
      if (gate.pair !== undefined) {
        const asked = { ...gate.pair, context: { showing: true } };
        const refusal = parts.pdpClient.refusal(principal, await parts.pdpClient.decide(principal, asked, inbound.correlationId));
        if (refusal !== undefined) return [refusal.status, refusal.options.headers, refusal.options.members?.["decision_id"]];
      }
      if (gate.module !== undefined && (await parts.modulesOf(principal, inbound.correlationId))[gate.module] !== true) return [404];
      return [200];
    } catch {
      return [503];
    }
  };

  return {
    has: (path) => clientPageAt(path) !== undefined,
    asset: async (name, inbound) => {
      const file = await parts.files.asset(name);
      if (file === undefined) throw new Problem("not_found");
      return assetResponse(file, inbound);
    },
    page: async (inbound, as) => {
      const { path } = inbound.target;
      const isRead = inbound.method === "GET" || inbound.method === "HEAD";
      if (isReserved(path)) throw new Problem("not_found");
      const page = clientPageAt(path);
      if (!isRead)
        throw page === undefined ? new Problem("not_found") : new Problem("method_not_allowed", { headers: { allow: "GET, HEAD" } });
      if (!mayGetPage(inbound, page)) throw new Problem("not_found");
      const html = await parts.files.index();
      if (html === undefined) {
        const problem = new Problem("web_client_missing", { detail: "Build it with: npm run build:web", headers: { "retry-after": "10" } });
        if (!wantsHtml(inbound)) throw problem;
        return problemPage(problem, inbound.correlationId, { href: path, text: "Try again" });
      }
      const [status, headers, refusedBy] = page === undefined ? [404] : await statusOf(page.gate, inbound, as);
      return indexResponse(html, status, headers, refusedBy);
    },
  };
};

import { isRawNumber, sentJson } from "#contract/exact-numbers.ts";
import { Problem } from "#contract/problem.ts";
import type { CelInputs } from "#parsing/cel.ts";
import type { Expression } from "#crud/systems/expression.ts";
import type { BoundRequest } from "#crud/systems/http-request.ts";
import { encode } from "#crud/systems/parameter-styles.ts";
import type { PageRules } from "#crud/systems/paginate.ts";

type Compiled<Rules> = Rules extends { readonly next: string }
  ? Omit<Rules, "items" | "next"> & { readonly items: Expression; readonly next: Expression }
  : Omit<Rules, "items"> & { readonly items: Expression };
/** `paginate` of an operation, its expressions compiled. */
export type Paging = Compiled<PageRules>;

/** Where a request goes, below the system's base address. */
export type Target = Pick<BoundRequest, "path" | "query">;

/** A page that was read, and what was read before it. */
export interface ReadPage {
  readonly prepared: CelInputs;
  /** The `Link` header of the answer. */
  readonly link: string | undefined;
  /** Its items, and those of all pages so far. */
  readonly items: number;
  readonly itemsSoFar: number;
  /** Counted from 1. */
  readonly page: number;
  /** The address that answered. */
  readonly from: URL;
}

const LINK = /<([^<>]*)>((?:\s*;\s*[^\s=;,]+(?:\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s",;]*))?)*)/g;
const PARAMETER = /;\s*([^\s=;,]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",;]*)))?/g;

/** The address whose relation is `next` (RFC 8288); of a link about another document nothing is taken. */
export const nextLink = (header: string): string | undefined => {
  for (const [, address, given = ""] of header.matchAll(LINK)) {
    const parameters = [...given.matchAll(PARAMETER)].map(([, name = "", inQuotes, plain]) => [
      name.toLowerCase(),
      inQuotes ?? plain ?? "",
    ]);
    const relation = parameters.find(([name]) => name === "rel")?.[1] ?? "";
    const isAboutThis = !parameters.some(([name]) => name === "anchor");
    if (isAboutThis && relation.toLowerCase().split(/\s+/).includes("next")) return address;
  }
  return undefined;
};

const plus = ({ path, query }: Target, name: string, value: string): Target => ({
  path,
  query: [...query.filter(([held]) => held !== encode(name)), [encode(name), encode(value)]],
});

/** The first page: the request itself, with the size and the place at which pages begin. */
export const firstPage = (paging: Paging, bound: Target): Target => {
  const { size } = paging;
  const sized = size === undefined ? bound : plus(bound, size.param, String(Math.min(size.default, size.max)));
  if (paging.style === "page") return plus(sized, paging.param, String(paging.first));
  return paging.style === "offset" ? plus(sized, paging.param, "0") : sized;
};

/**
 * The page after one that was read; `undefined` where it is the last. `first` is what the first page was asked with, `base` the path that
 * all of the system stands below. Throws `output_invalid` for a link that leads out of the system.
 */
export const nextPage = (paging: Paging, read: ReadPage, first: Target, base: string): Target | undefined => {
  const { size } = paging;
  const isLast = read.items === 0 || (size !== undefined && read.items < Math.min(size.default, size.max));
  switch (paging.style) {
    case "cursor": {
      const given = paging.next.evaluate(read.prepared);
      const next = typeof given === "string" ? given : typeof given === "number" || isRawNumber(given) ? sentJson(given) : "";
      return next === "" ? undefined : plus(first, paging.param, next);
    }
    case "page":
      return isLast ? undefined : plus(first, paging.param, String(paging.first + read.page));
    case "offset":
      return isLast ? undefined : plus(first, paging.param, String(read.itemsSoFar));
    case "link": {
      const given = read.link === undefined ? undefined : nextLink(read.link);
      if (given === undefined) return undefined;
      const next = ownAddress(given, read.from);
      if (next === undefined || !next.pathname.startsWith(`${base}/`))
        throw new Problem("output_invalid", { detail: "The answer's next page is not below the system's baseUrl." });
      return targetOf(next, base);
    }
  }
};

/** Where an upstream leads on its own: the same scheme, host and port, and no user. `undefined`: elsewhere, or nowhere. */
export const ownAddress = (given: string, from: URL): URL | undefined => {
  const found = URL.parse(given, from.href);
  return found === null || found.origin !== from.origin || found.username !== "" || found.password !== "" ? undefined : found;
};

/** An address of the system as a request has it. */
export const targetOf = ({ pathname, search }: URL, base: string): Target => ({
  path: pathname.slice(base.length),
  query: search
    .slice(1)
    .split("&")
    .filter((pair) => pair !== "")
    .map((pair) => {
      const at = pair.indexOf("=");
      return at < 0 ? [pair, ""] : [pair.slice(0, at), pair.slice(at + 1)];
    }),
});

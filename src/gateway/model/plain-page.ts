import type { Problem } from "#contract/problem.ts";
import { problemDetails } from "#contract/problem-details.ts";
import { escapeHtml as escape, pageFrame, pageStyle } from "#http/page-frame.ts";
import type { Inbound } from "./inbound.ts";

const html = (text: string, status: number, headers: Headers): Response => {
  headers.set("content-type", "text/html; charset=utf-8");
  headers.set("cache-control", "no-store");
  // No sandbox: it would keep the page from refreshing itself and give its links a foreign origin.
  headers.set(
    "content-security-policy",
    `default-src 'none'; style-src ${pageStyle}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  );
  return new Response(text, { status, headers });
};

/** True for a page load in a browser: a person looks at the answer. */
export const isNavigation = (inbound: Inbound): boolean => inbound.headers.get("sec-fetch-mode") === "navigate";

/**
 * True for a page load that another site began: a link there, or the way back from the identity provider. A strict cookie
 * stays away from it, or it is not our own page that asks; the same load, made by a page of ours, has neither fault.
 */
export const isForeignNavigation = (inbound: Inbound): boolean => {
  const site = inbound.headers.get("sec-fetch-site");
  return inbound.method === "GET" && isNavigation(inbound) && site !== undefined && site !== "same-origin" && site !== "none";
};

export const acceptsHtml = (accept = ""): boolean => accept.includes("text/html");
export const wantsHtml = (inbound: Inbound): boolean => acceptsHtml(inbound.headers.get("accept"));

/** A refusal for a person who looks at it, without script: what happened, its ids, and the way on. */
export const problemPage = (problem: Problem, correlationId: string, way: { readonly href: string; readonly text: string }): Response => {
  const headers = new Headers(problem.options.headers);
  const body = [
    `<h1>${escape(problem.title)}</h1>`,
    `<p>${escape(problem.options.detail ?? problemDetails[problem.code])}</p>`,
    `<p><a href="${escape(way.href)}">${escape(way.text)}</a></p>`,
    `<p class="ids"><code>${escape(problem.code)}</code><br><code>${escape(correlationId)}</code></p>`,
  ].join("");
  if (problem.status === 503 && !headers.has("retry-after")) headers.set("retry-after", "1");
  return html(pageFrame(problem.title, body), problem.status, headers);
};

/**
 * For a link from another site: the strict session cookie stays away from such a navigation, and comes with the next one,
 * which this page makes by itself, once.
 */
export const refreshPage = (status: 200 | 401 = 200, headers = new Headers()): Response =>
  html(pageFrame("One moment", "<p>One moment …</p>", '<meta http-equiv="refresh" content="0">'), status, headers);

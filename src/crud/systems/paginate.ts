import { z } from "zod";
import { said } from "#parsing/said.ts";
import { text } from "./operation-members.ts";

/** How an upstream gives a list in pages: in the four ways that are met. */

const style = <T extends string>(name: T) => said(z.literal(name), "How pages follow each other.", name);
const pages = {
  items: said(z.string(), "The items of a page.", "${ response.body.items }"),
  size: said(
    z
      .strictObject({
        param: said(text(1, 64), "The member of the query that takes the size of a page.", "limit"),
        default: said(z.int().min(1), "The size that is asked for.", 100),
        max: said(z.int().min(1), "The largest size that the upstream takes.", 200),
      })
      .optional(),
    "How large a page is.",
    { param: "limit", default: 100, max: 200 },
  ),
  maxPages: said(z.int().min(1).max(100).default(5), "Most pages that are read.", 10),
};

export const paginate = z.discriminatedUnion(
  "style",
  [
    z.strictObject({
      style: style("cursor"),
      param: said(text(1, 64), "The member of the query that takes the cursor.", "after"),
      next: said(z.string(), "The next cursor; null or empty at the end.", "${ response.body.next }"),
      ...pages,
    }),
    z.strictObject({
      style: style("page"),
      param: said(
        text(1, 64),
        "The member of the query that takes the number of the page. A page without items, or with fewer than `size` asks for, is the last.",
        "page",
      ),
      first: said(z.int().min(0).max(1).default(1), "The number of the first page.", 0),
      ...pages,
    }),
    z.strictObject({
      style: style("offset"),
      param: said(
        text(1, 64),
        "The member of the query that takes how many items to pass over. A page without items, or with fewer than `size` asks for, is the last.",
        "offset",
      ),
      ...pages,
    }),
    z.strictObject({
      style: style("link"),
      ...pages,
    }),
  ],
  { error: "must be cursor, page, offset or link (the Link header, RFC 8288)" },
);
export type PageRules = z.output<typeof paginate>;

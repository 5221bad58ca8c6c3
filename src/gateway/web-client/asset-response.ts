import { namesState, tagsOf } from "#http/entity-tags.ts";
import type { Inbound } from "#gateway/model/inbound.ts";
import type { BuiltFile } from "./built-files.ts";

/** The codings that the client takes, with `q=0` as a no. */
const accepts = (header: string | undefined, coding: string): boolean =>
  (header ?? "").split(",").some((item) => {
    const [name, ...parameters] = item.split(";").map((part) => part.trim().toLowerCase());
    return name === coding && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
  });

/** A file whose name holds its digest: never changes, so it is kept for a year. */
export const assetResponse = (file: BuiltFile, inbound: Inbound): Response => {
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

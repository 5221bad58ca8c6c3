/** Checks a base address of a system: literal scheme, host and port; no userinfo, query, fragment or expression. */
export const parseBaseUrl = (text: string): { readonly url: URL } | { readonly fault: string } => {
  if (/[\s\\]|\$\{/.test(text)) return { fault: "must be a literal address" };
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return { fault: "is no address" };
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") return { fault: "must begin with http:// or https://" };
  if (url.username !== "" || url.password !== "" || text.includes("@")) return { fault: "names a user" };
  if (url.search !== "" || url.hash !== "" || text.includes("?") || text.includes("#")) return { fault: "has a query or a fragment" };
  if (/\/\.{1,2}(?:\/|$)|%/.test(text.slice(text.indexOf("//") + 2))) return { fault: "has a path with more than one reading" };
  return { url };
};

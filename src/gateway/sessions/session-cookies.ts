import type { PublicOrigins } from "#gateway/model/public-origins.ts";

/** Names and attributes of the gateway's two cookies. */
export interface SessionCookies {
  readonly sidName: string;
  readonly txnName: string;
  setSid(sid: string): string;
  clearSid(): string;
  setTxn(value: string): string;
  clearTxn(): string;
  /** The session id sent: absent, one, or ambiguous because the cookie is sent twice. */
  readSid(header: string | undefined): CookieRead;
  readTxn(header: string | undefined): CookieRead;
}

export type CookieRead = { readonly kind: "none" } | { readonly kind: "one"; readonly value: string } | { readonly kind: "ambiguous" };

const TXN_SECONDS = 600;

const isBlank = (character: string | undefined): boolean => character === " " || character === "\t";

/**
 * Without the spaces and tabs around it (RFC 6265, section 5.2). Never `trim`, which takes away a no-break space too: a
 * browser lets any host of the domain set a cookie whose name has one before `__Host-`.
 */
const trimBlanks = (text: string): string => {
  let from = 0;
  let to = text.length;
  while (from < to && isBlank(text[from])) from += 1;
  while (to > from && isBlank(text[to - 1])) to -= 1;
  return text.slice(from, to);
};

const readCookie = (header: string | undefined, name: string): CookieRead => {
  // Most headers do not hold the name at all; of the others each cookie is looked at.
  if (header === undefined || !header.includes(name)) return { kind: "none" };
  let value: string | undefined;
  for (const part of header.split(";")) {
    const cut = part.indexOf("=");
    if (cut === -1 || trimBlanks(part.slice(0, cut)) !== name) continue;
    if (value !== undefined) return { kind: "ambiguous" };
    value = trimBlanks(part.slice(cut + 1));
  }
  return value === undefined ? { kind: "none" } : { kind: "one", value };
};

/**
 * `__Host-` cookies that only this host can set, over TLS alone. When every public origin is http on loopback there is
 * no TLS: then the names carry the port, because cookies of one host are shared by all its ports.
 */
export const createSessionCookies = (origins: PublicOrigins): SessionCookies => {
  const port = new URL(origins.first).port || "80";
  const isDev = origins.areLoopbackHttp;
  const sidName = isDev ? `sallyport_dev_sid_${port}` : "__Host-Http-sid";
  const txnName = isDev ? `sallyport_dev_txn_${port}` : "__Host-Http-txn";
  const secure = isDev ? "" : "; Secure";
  const sid = (value: string, more = "") => `${sidName}=${value}; Path=/; HttpOnly${secure}; SameSite=Strict${more}`;
  // The provider sends the browser back from another site: a strict cookie would stay away.
  const txn = (value: string, seconds: number) => `${txnName}=${value}; Path=/; HttpOnly${secure}; SameSite=Lax; Max-Age=${seconds}`;
  return {
    sidName,
    txnName,
    setSid: (value) => sid(value),
    clearSid: () => sid("", "; Max-Age=0"),
    setTxn: (value) => txn(value, TXN_SECONDS),
    clearTxn: () => txn("", 0),
    readSid: (header) => readCookie(header, sidName),
    readTxn: (header) => readCookie(header, txnName),
  };
};

import type { PublicOrigins } from "#gateway/front-door/public-origins.ts";

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

const readCookie = (header: string | undefined, name: string): CookieRead => {
  // Most headers do not hold the name at all; of the others each cookie is looked at.
  if (header === undefined || !header.includes(name)) return { kind: "none" };
  let value: string | undefined;
  for (const part of header.split(";")) {
    const cut = part.indexOf("=");
    if (cut === -1 || part.slice(0, cut).trim() !== name) continue;
    if (value !== undefined) return { kind: "ambiguous" };
    value = part.slice(cut + 1).trim();
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

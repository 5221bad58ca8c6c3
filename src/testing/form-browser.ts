/**
 * As much of a browser as server-rendered forms need: cookies by host (ports share them, as in browsers), redirects one
 * by one, forms filled and sent. No script, no sockets of its own.
 */
export interface FormBrowser {
  readonly cookies: ReadonlyMap<string, string>;
  /** Follows redirects until a page, or until one leads to an address that `stopAt` matches: then that address is the answer's. */
  open(url: string, stopAt?: (url: URL) => boolean): Promise<Visited>;
  /** Fills the page's form with this index (0 unless given) and sends it. */
  submit(page: Visited, fields: Readonly<Record<string, string>>, stopAt?: (url: URL) => boolean, form?: number): Promise<Visited>;
}

export interface Visited {
  readonly url: URL;
  readonly status: number;
  readonly headers: Headers;
  readonly html: string;
  /** True: a redirect led here and the address was not asked. */
  readonly stopped: boolean;
}

interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly path: string;
}

const unescape = (text: string): string =>
  text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&amp;", "&");

const attribute = (tag: string, name: string): string | undefined => {
  const found = new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1];
  return found === undefined ? undefined : unescape(found);
};

/** Action and preset fields of every form of a page. */
export const formsOf = (html: string): readonly { readonly action: string; readonly fields: Readonly<Record<string, string>> }[] =>
  [...html.matchAll(/<form[^>]*>([\s\S]*?)<\/form>/g)].map(([whole, inner]) => ({
    action: attribute(whole.slice(0, whole.indexOf(">")), "action") ?? "",
    fields: Object.fromEntries(
      [...(inner ?? "").matchAll(/<input[^>]*>/g)].flatMap(([tag]) => {
        const name = attribute(tag, "name");
        return name === undefined ? [] : [[name, attribute(tag, "value") ?? ""]];
      }),
    ),
  }));

export const formBrowser = (send: (url: string, init: RequestInit) => Promise<Response> = fetch): FormBrowser => {
  const jar = new Map<string, Cookie>();

  const take = (url: URL, headers: Headers): void => {
    for (const line of headers.getSetCookie()) {
      const [pair = "", ...rest] = line.split(";").map((part) => part.trim());
      const at = pair.indexOf("=");
      const name = pair.slice(0, at);
      const value = pair.slice(at + 1);
      const path = rest.find((part) => part.toLowerCase().startsWith("path="))?.slice(5) ?? "/";
      const gone = rest.some((part) => /^max-age=0$/i.test(part) || (/^expires=/i.test(part) && Date.parse(part.slice(8)) < Date.now()));
      const key = `${url.hostname} ${name} ${path}`;
      if (gone || value === "") jar.delete(key);
      else jar.set(key, { name, value, path });
    }
  };
  const cookieHeader = (url: URL): string =>
    [...jar]
      .filter(
        ([key, cookie]) =>
          key.startsWith(`${url.hostname} `) && (url.pathname === cookie.path || url.pathname.startsWith(cookie.path.replace(/\/?$/, "/"))),
      )
      .map(([, cookie]) => `${cookie.name}=${cookie.value}`)
      .join("; ");

  const visit = async (start: URL, init: RequestInit, stopAt: (url: URL) => boolean): Promise<Visited> => {
    let url = start;
    let next = init;
    for (let hop = 0; hop < 20; hop++) {
      const cookie = cookieHeader(url);
      const headers = new Headers(next.headers);
      headers.set("accept", "text/html");
      if (cookie !== "") headers.set("cookie", cookie);
      const response = await send(url.href, { ...next, headers, redirect: "manual" });
      take(url, response.headers);
      const location = response.headers.get("location");
      if (location === null || response.status < 300 || response.status > 399) {
        return { url, status: response.status, headers: response.headers, html: await response.text(), stopped: false };
      }
      await response.body?.cancel();
      url = new URL(location, url);
      next = {};
      if (stopAt(url)) return { url, status: response.status, headers: response.headers, html: "", stopped: true };
    }
    throw new Error("too many redirects");
  };

  return {
    get cookies() {
      return new Map([...jar.values()].map((cookie) => [cookie.name, cookie.value]));
    },
    open: (url, stopAt = () => false) => visit(new URL(url), {}, stopAt),
    submit: (page, fields, stopAt = () => false, form = 0) => {
      const found = formsOf(page.html)[form];
      if (found === undefined) throw new Error(`no form ${form} on ${page.url.href}: ${page.html.slice(0, 500)}`);
      return visit(
        new URL(found.action, page.url),
        {
          method: "POST",
          body: new URLSearchParams({ ...found.fields, ...fields }).toString(),
          headers: { "content-type": "application/x-www-form-urlencoded", origin: page.url.origin },
        },
        stopAt,
      );
    },
  };
};

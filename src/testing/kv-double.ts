import { randomUUID } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { cleanUp } from "./clean-up.ts";

/** What goes wrong, each for as many requests below a mount as it says, then no more. */
export interface KvDoubleFaults {
  /** The socket is closed before anything is done, or after it was done and before it is answered. */
  cutBefore: number;
  cutAfter: number;
  quota429: number;
  answer412: number;
  /** Answered as `issueStatus`, 500 unless another is set, with the words of `issueBody`. */
  answer500: number;
  /** 500 after it was done. */
  fail500: number;
  issueStatus: number;
  issueBody: string | undefined;
  /** A standby that is behind: 412 (OpenBao: 429) to requests that name an index; OpenBao forwards those that say so. */
  behind: number;
  /** 400 to `X-Vault-Inconsistent`, as Vault answers where its operator has not allowed it. */
  refusesInconsistent: boolean;
  /** 403 although the token is good. */
  deny: number;
  redirectTo: string | undefined;
  redirectStatus: number;
  sealed: boolean;
  /** What `sys/health` answers; 200 or 503 unless set. */
  health: number | undefined;
  /** Added to each answer with a body. */
  moreBytes: number;
  slowMs: number;
  /** What it answers where it does not know of keys without their values. */
  noSubkeys: 403 | 404 | 405 | undefined;
}

/** A KVv2 server by what is recorded of Vault and OpenBao: statuses, bodies, texts; mounts `kv-a` and `kv-b`. */
export interface KvDouble {
  readonly url: string;
  readonly rootToken: string;
  readonly faults: KvDoubleFaults;
  /** `METHOD path` of each request, and whether it carried a token. */
  readonly journal: {
    readonly line: string;
    readonly hasToken: boolean;
    readonly namespace: string | undefined;
    readonly waits?: string | undefined;
    readonly headers: IncomingHttpHeaders;
  }[];
  /** As whoever administers the server: path without `/v1/`. */
  ask(method: string, path: string, body?: unknown): Promise<{ readonly status: number; readonly data: Record<string, unknown> }>;
  /** A role of AppRole, `name` and settings as OpenBao takes them; of these `token_type`, `token_ttl` and `secret_id_num_uses` are kept. */
  role(name: string, settings?: Readonly<Record<string, unknown>>): Promise<{ readonly roleId: string; secretId(): Promise<string> }>;
}

/** A token that is not the root's. */
interface Token {
  readonly seconds: number;
  readonly isBatch: boolean;
  readonly isRenewable: boolean;
}

interface Version {
  created_time: string;
  deletion_time: string;
  destroyed: boolean;
  data: Readonly<Record<string, unknown>> | null;
}
interface Entry {
  readonly versions: Map<number, Version>;
  current: number;
  created: string;
  updated: string;
  settings: { max_versions: number; cas_required: boolean; delete_version_after: string; custom_metadata: Record<string, string> | null };
}
type Answer = readonly [status: number, body?: unknown];
type Json = Readonly<Record<string, unknown>>;

const MOUNTS = ["kv-a", "kv-b"];
const NONE: Answer = [404, { errors: [] }];
const refuse = (text: string): Answer => [400, { errors: [text] }];
const secondsOf = (text: unknown): number => Number(/^([0-9]+)/.exec(String(text))?.[1] ?? 0) * (String(text).endsWith("h") ? 3600 : 1);
const hours = (text: string): number => Number(/^([0-9]+)h/.exec(text)?.[1] ?? 0);

/** What the two makers say differently. */
const texts = {
  openbao: { sealed: "Vault is sealed", denied: "permission denied", duration: (h: number) => `${h}h0m0s` },
  vault: {
    sealed: "Vault is sealed",
    denied: "2 errors occurred:\n\t* permission denied\n\t* invalid token\n\n",
    duration: (h: number) => `${h}h0m0s`,
  },
} as const;

const readBody = async (request: IncomingMessage): Promise<Json> => {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text === "" ? {} : (JSON.parse(text) as Json);
};

/** Starts one on a free loopback port; it ends with the test. */
export const startKvDouble = async (t: { after(end: () => unknown): void }, flavour: keyof typeof texts): Promise<KvDouble> => {
  const say = texts[flavour];
  const [rootToken, clusterId] = [randomUUID(), randomUUID()];
  const secrets = new Map<string, Entry>();
  const journal: KvDouble["journal"][number][] = [];
  const [tokens, logins] = [new Map<string, Token>(), new Map<string, { readonly token: Token; uses: number }>()];
  const mountsNeedCas = new Set<string>();
  let writes = 0;
  const faults: KvDoubleFaults = {
    cutBefore: 0,
    cutAfter: 0,
    quota429: 0,
    answer412: 0,
    answer500: 0,
    fail500: 0,
    issueStatus: 500,
    issueBody: undefined,
    behind: 0,
    refusesInconsistent: false,
    deny: 0,
    redirectTo: undefined,
    redirectStatus: 307,
    sealed: false,
    health: undefined,
    moreBytes: 0,
    slowMs: 0,
    noSubkeys: undefined,
  };
  const now = () => new Date().toISOString();
  const isGone = (one: Version): boolean => one.destroyed || (one.deletion_time !== "" && Date.parse(one.deletion_time) <= Date.now());
  const metadataOf = (version: number, { created_time, deletion_time, destroyed }: Version, entry: Entry) => ({
    created_time,
    custom_metadata: entry.settings.custom_metadata,
    deletion_time,
    destroyed,
    version,
  });

  const read = (entry: Entry | undefined, wanted: string | null): Answer => {
    const number = wanted === null || wanted === "0" ? entry?.current : Number(wanted);
    const version = number === undefined ? undefined : entry?.versions.get(number);
    if (entry === undefined || number === undefined || version === undefined) return NONE;
    const data = isGone(version) ? null : version.data;
    return [data === null ? 404 : 200, { data: { data, metadata: metadataOf(number, version, entry) } }];
  };

  const write = (path: string, { data, options }: Json): Answer => {
    const present = secrets.get(path);
    const cas = (options as { cas?: number } | undefined)?.cas;
    const needsCas = present?.settings.cas_required === true || mountsNeedCas.has(path.slice(0, path.indexOf("/")));
    if (cas === undefined && needsCas) return refuse("check-and-set parameter required for this call");
    if (cas !== undefined && cas !== (present?.current ?? 0)) return refuse("check-and-set parameter did not match the current version");
    const at = now();
    const entry: Entry = present ?? {
      versions: new Map(),
      current: 0,
      created: at,
      updated: at,
      settings: { max_versions: 0, cas_required: false, delete_version_after: "0s", custom_metadata: null },
    };
    entry.current++;
    entry.updated = at;
    const life = hours(entry.settings.delete_version_after);
    const version: Version = {
      created_time: at,
      deletion_time: life === 0 ? "" : new Date(Date.now() + life * 3_600_000).toISOString(),
      destroyed: false,
      data: data as Json,
    };
    entry.versions.set(entry.current, version);
    const max = entry.settings.max_versions === 0 ? 10 : entry.settings.max_versions;
    for (const number of entry.versions.keys()) if (number <= entry.current - max) entry.versions.delete(number);
    secrets.set(path, entry);
    return [200, { data: metadataOf(entry.current, version, entry) }];
  };

  /** 204 also for what is not there. */
  const settle = (entry: Entry | undefined, numbers: readonly number[], how: (version: Version) => void): Answer => {
    for (const number of numbers) {
      const version = entry?.versions.get(number);
      if (version !== undefined && !version.destroyed) how(version);
    }
    return [204];
  };

  /** OpenBao answers a part of a folder where it is asked for one; Vault does not hear of it. */
  const list = (folder: string, { after, limit }: { after: string; limit: number }): Answer => {
    const names = [...secrets.keys()].filter((path) => path.startsWith(folder)).map((path) => path.slice(folder.length));
    const keys = new Set(names.map((name) => (name.includes("/") ? name.slice(0, name.indexOf("/") + 1) : name)));
    const all = [...keys].toSorted();
    const named = flavour === "vault" || limit === 0 ? all : all.filter((name) => name > after).slice(0, limit);
    return named.length === 0 ? NONE : [200, { data: { keys: named } }];
  };

  const describe = (entry: Entry | undefined): Answer => {
    if (entry === undefined) return NONE;
    const versions = Object.fromEntries([...entry.versions].map(([number, { data: _data, ...rest }]) => [String(number), rest]));
    return [
      200,
      {
        data: {
          ...entry.settings,
          versions,
          created_time: entry.created,
          updated_time: entry.updated,
          current_version: entry.current,
          oldest_version: entry.current - entry.versions.size < 1 ? 0 : Math.min(...entry.versions.keys()),
        },
      },
    ];
  };

  const namesOf = (value: unknown, depth: number): unknown =>
    typeof value !== "object" || value === null || Array.isArray(value) || depth === 0
      ? null
      : Object.fromEntries(Object.entries(value).map(([name, item]) => [name, namesOf(item, depth - 1)]));
  const subkeys = (entry: Entry | undefined, depth: number): Answer => {
    const [status, body] = read(entry, null);
    const { data, metadata } = ((body as Json)["data"] ?? {}) as Json;
    return metadata === undefined ? NONE : [status, { data: { subkeys: data === null ? null : namesOf(data, depth), metadata } }];
  };

  const metadata = (method: string, path: string, { searchParams: asked }: URL, body: Json): Answer => {
    if (asked.get("list") === "true" || method === "LIST")
      return list(path, { after: asked.get("after") ?? "", limit: Number(asked.get("limit") ?? 0) });
    if (method === "GET") return describe(secrets.get(path));
    if (method === "DELETE") secrets.delete(path);
    const entry = secrets.get(path);
    if (method === "POST" && entry !== undefined) {
      const life = body["delete_version_after"];
      Object.assign(entry.settings, body, typeof life === "string" ? { delete_version_after: say.duration(hours(life)) } : {});
    }
    return [204];
  };

  const inMount = (method: string, url: URL, body: Json): Answer => {
    const [mount = "", verb = "", ...rest] = url.pathname.slice("/v1/".length).split("/");
    const path = [mount, ...rest].join("/");
    const entry = secrets.get(path);
    const numbers = (body["versions"] as number[] | undefined) ?? [];
    if (!MOUNTS.includes(mount)) return [403, { errors: [say.denied] }];
    if (verb === "config" && method === "POST") {
      if (body["cas_required"] === true) mountsNeedCas.add(mount);
      return [204];
    }
    if (verb === "config") return [200, { data: { cas_required: mountsNeedCas.has(mount), delete_version_after: "0s", max_versions: 0 } }];
    if (verb === "metadata") return metadata(method, path, url, body);
    if (verb === "subkeys" && faults.noSubkeys !== undefined) return [faults.noSubkeys, { errors: [say.denied] }];
    if (verb === "subkeys") return subkeys(entry, Number(url.searchParams.get("depth")));
    if (verb === "data" && method === "GET") return read(entry, url.searchParams.get("version"));
    if (verb === "data" && method === "POST") return write(path, body);
    if (verb === "delete")
      return settle(entry, numbers, (version) => void (version.deletion_time = isGone(version) ? version.deletion_time : now()));
    if (verb === "undelete") return settle(entry, numbers, (version) => void (version.deletion_time = ""));
    if (verb === "destroy") return settle(entry, numbers, (version) => void Object.assign(version, { destroyed: true, data: null }));
    return NONE;
  };

  const takes = (name: "cutBefore" | "cutAfter" | "quota429" | "answer412" | "answer500" | "fail500" | "behind" | "deny"): boolean => {
    if (faults[name] === 0) return false;
    faults[name]--;
    return true;
  };

  const issue = (token: Token): Answer => {
    const name = randomUUID();
    tokens.set(name, token);
    return [200, { auth: { client_token: name, lease_duration: token.seconds, renewable: token.isRenewable } }];
  };
  const login = (secretId: unknown): Answer => {
    const known = logins.get(String(secretId));
    if (known === undefined || known.uses-- === 0) return refuse("invalid role or secret ID");
    return issue(known.token);
  };
  const renew = (name: string): Answer => {
    const token = tokens.get(name);
    if (token?.isBatch === true) return refuse("batch tokens cannot be renewed");
    if (token?.isRenewable !== true) return refuse("lease is not renewable");
    return [200, { auth: { client_token: name, lease_duration: token.seconds, renewable: true } }];
  };

  const answer = async (request: IncomingMessage, url: URL): Promise<Answer | "cut"> => {
    const body = await readBody(request);
    const place = url.pathname.slice("/v1/".length);
    if (place === "sys/health" && faults.health !== undefined) return [faults.health, { cluster_id: clusterId }];
    if (place === "sys/health") return faults.sealed ? [503, { sealed: true }] : [200, { sealed: false, cluster_id: clusterId }];
    if (faults.sealed) return [503, { errors: [say.sealed] }];
    // Without namespaces a server does not hear of them.
    if (place === "sys/internal/ui/mounts" && flavour === "vault") return [200, { data: { auth: {}, secret: {} } }];
    if (place === "sys/internal/ui/mounts") return [404, { errors: ["namespace not found"] }];
    if (place === "auth/approle/login") return login(body["secret_id"]);
    const token = String(request.headers["x-vault-token"]);
    if (token !== rootToken && !tokens.has(token)) return [403, { errors: [say.denied] }];
    if (place === "auth/token/renew-self") return renew(token);
    if (place === "auth/token/create" && token === rootToken)
      return issue({ seconds: secondsOf(body["ttl"]), isBatch: body["type"] === "batch", isRenewable: body["renewable"] !== false });
    const shown = /^sys\/internal\/ui\/mounts\/(.+)$/.exec(place)?.[1];
    if (shown !== undefined)
      return MOUNTS.includes(shown)
        ? [200, { data: { path: `${shown}/`, type: "kv", options: { version: "2" } } }]
        : [403, { errors: ["preflight capability check returned 403, please ensure client's policies grant access to path"] }];
    if (takes("cutBefore")) return "cut";
    if (takes("quota429")) return [429, { errors: [`request path "${place}": rate limit quota exceeded`] }];
    if (takes("answer412")) return [412, { errors: ["required index state not present"] }];
    const [index, inconsistent] = [request.headers["x-vault-index"], request.headers["x-vault-inconsistent"]];
    if (faults.refusesInconsistent && inconsistent !== undefined) return refuse("forwarding via header X-Vault-Inconsistent disabled");
    if (flavour === "openbao" && !["undefined", "fail", "await-state", "forward-active-node"].includes(String(inconsistent)))
      return refuse('unknown value for "X-Vault-Inconsistent" header');
    const isForwarded = flavour === "openbao" && inconsistent === "forward-active-node";
    if (index !== undefined && !isForwarded && takes("behind"))
      return flavour === "openbao" ? [429, { errors: [] }] : [412, { errors: ["required index state not present"] }];
    if (takes("answer500")) return [faults.issueStatus, faults.issueBody ?? { errors: ["1 error occurred:\n\t* internal error\n\n"] }];
    if (takes("deny")) return [403, { errors: [say.denied] }];
    const said = inMount(request.method ?? "", url, body);
    if (takes("fail500")) return [500, { errors: ["leadership lost while committing log"] }];
    return takes("cutAfter") ? "cut" : said;
  };

  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? "", "http://double");
    journal.push({
      line: `${request.method} ${request.url}`,
      hasToken: request.headers["x-vault-token"] !== undefined,
      namespace: request.headers["x-vault-namespace"] as string | undefined,
      waits: [request.headers["x-vault-index"], request.headers["x-vault-inconsistent"]].filter((one) => one !== undefined).join(" "),
      headers: request.headers,
    });
    if (faults.redirectTo !== undefined) {
      // An origin alone: there, for the same path.
      const isOrigin = new URL(faults.redirectTo).pathname === "/";
      response.writeHead(faults.redirectStatus, { location: `${faults.redirectTo}${isOrigin ? request.url : ""}` }).end();
      return;
    }
    void answer(request, url).then((said) => {
      if (said === "cut") return void request.socket.destroy();
      const [status, body] = said;
      setTimeout(() => {
        const isWrite = request.method !== "GET" && status < 300;
        const at = isWrite ? ++writes : writes;
        const place = flavour === "openbao" ? JSON.stringify({ cluster: clusterId, value: String(at) }) : `v1:${clusterId}:${at}:0:mac`;
        // OpenBao says it of reads too.
        const isReported = isWrite || flavour === "openbao";
        const index = Buffer.from(place).toString("base64");
        response
          .writeHead(status, { "content-type": "application/json", ...(isReported ? { "x-vault-index": index } : {}) })
          .end(body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body) + " ".repeat(faults.moreBytes));
      }, faults.slowMs);
    });
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  cleanUp(t, () => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    rootToken,
    faults,
    journal,
    role: async (name, settings = {}) => {
      const isBatch = settings["token_type"] === "batch";
      const token = { seconds: secondsOf(settings["token_ttl"] ?? "768h"), isBatch, isRenewable: !isBatch };
      const secretId = async () => {
        const made = randomUUID();
        const uses = Number(settings["secret_id_num_uses"] ?? 0);
        logins.set(made, { token, uses: uses === 0 ? Number.POSITIVE_INFINITY : uses });
        return made;
      };
      return { roleId: name, secretId };
    },
    ask: async (method, path, body) => {
      const response = await fetch(`${url}/v1/${path}`, {
        method,
        headers: { "x-vault-token": rootToken },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, data: text === "" ? {} : (JSON.parse(text) as Record<string, unknown>) };
    },
  };
};

/** Where the rows of the bench lead. */
export interface Upstreams {
  /** Answers small JSON. */
  readonly plain: number;
  /** Event streams and bulk. */
  readonly source: number;
  /** Two instances of one service. */
  readonly pair: readonly [number, number];
}

const ROWS = 61;

/** The row that throughput is measured on; it lies among the others, with a capture like most of them. */
export const measuredPath = "/api/shop/orders/4711/lines";

/** Served by a service with two instances. */
export const pairPath = "/api/pair/items";

/** `/auth/verify` is asked about this one; see `hosts` in the table. */
export const verifiedPath = "/reports/4711";

/** A table of 61 rows: the measured ones, and as many others as a grown installation has. */
export const routeTable = (upstreams: Upstreams, host: string): string => {
  const measured = [
    "{ id: shop.lines, path: '/api/shop/orders/{id}/lines', target_service: plain, upstream_path: '/orders/{id}/lines', methods: [GET, POST], auth: session, authz: none }",
    `{ id: reports, path: '/reports/{id}', hosts: ['${host}'], methods: [GET, POST], auth: session, authz: none }`,
    "{ id: pair, path: /api/pair/items, target_service: pair, preserve_path: true, methods: [GET, POST], auth: session, authz: none, retry: safe }",
    "{ id: events, path: /api/shop/events, target_service: source, upstream_path: /events, methods: [GET], auth: session, authz: none, streaming: true }",
    "{ id: bulk, path: '/api/bulk/*', target_service: source, upstream_path: '/{path}', methods: [GET, POST], auth: session, authz: none, body_limit: 1073741824, content_types: [application/octet-stream] }",
  ];
  const others = Array.from({ length: ROWS - measured.length }, (_, index) => {
    const path = [
      `/api/area${index % 9}/things${index}`,
      `/api/area${index % 9}/things${index}/{id}`,
      `/api/area${index % 9}/things${index}/*`,
    ][index % 3] as string;
    return `{ id: other.${index}, path: '${path}', target_service: plain, preserve_path: true, methods: [GET, POST, PUT, DELETE], auth: session, authz: none }`;
  });
  return `version: 1
services:
  pdp: { base_urls: ["\${PDP_SERVICE_URL}"], audience: "\${PDP_AUDIENCE}" }
  crud: { base_urls: ["\${CRUD_SERVICE_URL}"], audience: "\${CRUD_AUDIENCE}" }
  plain: { base_urls: ["http://127.0.0.1:${upstreams.plain}"] }
  pair: { base_urls: ["http://127.0.0.1:${upstreams.pair[0]}", "http://127.0.0.1:${upstreams.pair[1]}"] }
  source: { base_urls: ["http://127.0.0.1:${upstreams.source}"], pool: 1024 }
audiences: []
routes:
${[...measured, ...others].map((row) => `  - ${row}`).join("\n")}
`;
};

/** Patterns of the table's rows and their methods, for references that match routes by themselves. */
export const routePatterns = (table: string): readonly { readonly path: string; readonly methods: readonly string[] }[] =>
  [...table.matchAll(/path: '?([^',]+)'?, .*?methods: \[([^\]]+)\]/g)].map(([, path = "", methods = ""]) => ({
    path,
    methods: methods.split(", "),
  }));

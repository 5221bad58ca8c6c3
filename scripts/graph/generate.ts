/** What a graph is to be like. */
export interface GraphPlan {
  /** 1 = 227,840 nodes and 560,650 edges. */
  readonly scale: number;
  readonly seed: number;
  readonly hostile: boolean;
}

const hostileNames = [
  'O\'Neil "the" Quoted',
  "\u202eDesrever \u2066Isolate\u2069",
  "Zoë 🦀👩‍👩‍👧",
  "İSTANBUL ıspanak",
  "100%_off \\ _%",
  "e\u0301clair ﬁancé",
  "Анна Каренина",
  "<script>alert(1)</script>",
];
const given = ["Anna", "Ben", "Chen", "Dora", "Emil", "Fay", "Gus", "Hana", "Ivo", "Jana", "Karl", "Lena", "Mona", "Nils", "Olga", "Paul"];
const family = [
  "Adler",
  "Baker",
  "Costa",
  "Diaz",
  "Engel",
  "Fuchs",
  "Gross",
  "Huber",
  "Iyer",
  "Jones",
  "Keller",
  "Lopez",
  "Meyer",
  "Novak",
];

/** The same numbers for the same seed, everywhere (mulberry32). */
const createRandom = (seed: number): ((below: number) => number) => {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * below);
  };
};

const at = <T>(list: readonly T[], index: number): T => list[index % list.length] as T;

/** How many of each, and the edges that come to 560,650 at scale 1. */
const sizesOf = (scale: number) => {
  const of = (count: number): number => Math.max(1, Math.round(count * scale));
  const tenants = of(300);
  return {
    tenants,
    persons: of(100_000),
    accounts: of(120_000),
    agents: of(2_000),
    groups: Math.max(tenants, of(5_000)),
    tools: of(500),
    apps: of(40),
    memberships: Math.round(341_150 * scale),
  };
};

/** Lines of NDJSON in parts of a thousand, for `npm run graph -- import` (several tenants: not for one tenant's own import). */
export function* generateGraph({ scale, seed, hostile }: GraphPlan): Generator<readonly string[]> {
  const size = sizesOf(scale);
  const random = createRandom(seed);
  let part: string[] = [];
  const full = function* (): Generator<readonly string[]> {
    if (part.length < 1_000) return;
    yield part;
    part = [];
  };
  const node = (id: string, kind: string, name: string, tenant: string | null, props: object): void =>
    void part.push(`${JSON.stringify({ node: { id, kind, name, tenant_id: tenant, props } })}\n`);
  const edge = (kind: string, src: string, dst: string, more: object = {}): void =>
    void part.push(`${JSON.stringify({ edge: { kind, src, dst, ...more } })}\n`);
  const tenant = (index: number): string => `tenant:t${index % size.tenants}`;
  const nameOf = (index: number): string =>
    hostile && index % 5 === 0 ? at(hostileNames, index / 5) : `${at(given, random(given.length))} ${at(family, random(family.length))}`;
  /** Of a hostile graph some edges have ended and some will. */
  const ending = (index: number): object =>
    hostile && index % 7 === 0 ? { expires_at: index % 14 === 0 ? "2001-01-01T00:00:00.000Z" : "2100-01-01T00:00:00.000Z" } : {};

  for (let index = 0; index < size.tenants; index++) node(tenant(index), "Tenant", `Tenant ${index}`, tenant(index), {});
  for (let index = 0; index < size.groups; index++) {
    node(`group:g${index}`, "Group", `Group ${index}`, tenant(index), {});
    yield* full();
  }
  for (let index = 0; index < size.persons; index++) {
    node(`person:p${index}`, "Person", nameOf(index), tenant(index), { email: `p${index}@t${index % size.tenants}.example` });
    yield* full();
  }
  // An account is in the tenant of its owner.
  const ownerOf = (account: number): number => account % size.persons;
  for (let index = 0; index < size.accounts; index++) {
    node(`account:a${index}`, "Account", `a${index}`, tenant(ownerOf(index)), { login: `a${index}`, system: "directory" });
    yield* full();
  }
  for (let index = 0; index < size.agents; index++)
    node(`agent:x${index}`, "AIAgent", `Agent ${index}`, tenant(index), { client_id: `agent:x${index}` });
  yield* full();
  for (let index = 0; index < size.apps; index++)
    node(`saas:s${index}`, "SaaSApp", `App ${index}`, null, { audience: `https://s${index}.example`, scopes: ["read", "write"] });
  for (let index = 0; index < size.tools; index++) {
    node(`gen.demo.tool${index}`, "Tool", `gen.demo.tool${index}`, null, { title: `Tool ${index}` });
    edge("REQUIRES", `gen.demo.tool${index}`, `saas:s${index % size.apps}`, { props: { scopes: ["read"] } });
  }
  yield* full();

  // Three levels: one group at the top of each tenant, about a fifth of the others below it, the rest below those.
  const level = Math.max(1, Math.round((size.groups / size.tenants - 1) / 5));
  for (let index = 0; index < size.groups; index++) {
    const rank = Math.floor(index / size.tenants);
    const parent = rank <= level ? index % size.tenants : (1 + ((rank - 1) % level)) * size.tenants + (index % size.tenants);
    edge("MEMBER_OF", `group:g${index}`, rank === 0 ? tenant(index) : `group:g${parent}`);
    for (let grant = 0; grant < 10 && grant < size.tools; grant++)
      edge("GRANTS_ACCESS", `group:g${index}`, `gen.demo.tool${(index * 7 + grant) % size.tools}`, ending(index + grant));
    yield* full();
  }
  for (let index = 0; index < size.accounts; index++) {
    edge("BELONGS_TO", `person:p${ownerOf(index)}`, `account:a${index}`);
    yield* full();
  }
  // Everybody in so many groups of their tenant, one behind the other.
  for (let index = 0; index < size.memberships; index++) {
    const account = index % size.accounts;
    const round = Math.floor(index / size.accounts);
    const home = ownerOf(account) % size.tenants;
    const ranks = Math.floor((size.groups - 1 - home) / size.tenants) + 1;
    const group = home + ((account + round) % ranks) * size.tenants;
    if (round < ranks) edge("MEMBER_OF", `account:a${account}`, `group:g${group}`, ending(index));
    yield* full();
  }
  for (let index = 0; index < size.agents; index++) {
    edge("USES_TENANT", `agent:x${index}`, tenant(index));
    edge("CONTROLLED_BY", `agent:x${index}`, `person:p${index % size.persons}`, { props: { level: "primary" } });
    for (let tool = 0; tool < 20 && tool < size.tools; tool++)
      edge("HAS_CAPABILITY", `agent:x${index}`, `gen.demo.tool${(index + tool) % size.tools}`, {
        props: { granted_by: `person:p${index % size.persons}` },
      });
    yield* full();
  }
  if (part.length > 0) yield part;
}

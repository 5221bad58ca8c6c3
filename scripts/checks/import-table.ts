import type { OxlintOverride } from "oxlint";

/** Modules of `src` and the modules below them that each may import, besides `contract`. `contract` itself imports zod alone. */
const foundations = ["telemetry", "http", "store", "parsing", "events", "authn", "pdp-client"];
const modules: Readonly<Record<string, readonly string[]>> = {
  telemetry: [],
  store: [],
  parsing: [],
  http: ["telemetry"],
  events: ["telemetry", "store", "http"],
  authn: ["telemetry", "http", "store", "events"],
  "pdp-client": ["telemetry", "http", "authn"],
  pdp: foundations,
  gateway: foundations,
  crud: foundations,
  membership: foundations,
  secrets: foundations,
  issuer: foundations,
  demo: [...foundations, "membership", "issuer", "secrets"],
  app: [...foundations, "pdp", "gateway", "crud", "membership", "secrets", "issuer", "demo"],
};
const above = ["testing"];

/**
 * Folders of each module from the lowest to the highest: each may import those before it, and itself. A folder that is not named is
 * bound by the table of modules alone. `.` is the module's root, whose `config.ts` all may import.
 */
export const folders: Readonly<Record<string, readonly string[]>> = {
  membership: [
    "model",
    "graph",
    "graph/index",
    "context",
    "delegations",
    "ledger",
    "seed",
    "graph-edit",
    "budgets",
    "roles",
    "pip",
    "data-scope",
    "identity-nodes",
    "governance",
    "credentials",
    "registry",
    "sign-ins",
    "diagnostics",
    "scim",
    "transfer",
    ".",
  ],
  gateway: [
    "model",
    "limits",
    "routes",
    "sessions",
    "ingress",
    "steps",
    "web-client",
    "proxy",
    "active-routes",
    "streams",
    "auth",
    "authzen",
    "explain-routes",
    "internal",
    "internal/identity",
    "pipeline",
    "compose",
    ".",
  ],
  crud: [
    "model",
    "documents",
    "systems",
    "versions",
    "tools",
    "workflows/model",
    "workflows/definition",
    "forms/definition",
    "mcp/call/steps",
    "mcp/call",
    "servers",
    "upstream",
    "mcp",
    "connectors",
    "mcp/standard",
    "notifications",
    "workflows/engine",
    "workflows/tasks",
    "workflows/serve",
    "forms",
    "configs",
    "imports",
    "configs/kinds",
    "runs",
    ".",
  ],
  pdp: [
    "model",
    "bundle",
    "engine",
    "facts",
    "records",
    "decision",
    "search",
    "remote",
    "rights",
    "lifecycle/compare",
    "lifecycle/cases",
    "lifecycle/matrix",
    "lifecycle/examine",
    "lifecycle/rollout",
    "lifecycle/shadow",
    "lifecycle/replay",
    "lifecycle/what-if",
    "explain",
    "context",
    "budgets",
    "requests",
    "endpoints",
    "bootstrap",
    ".",
  ],
  secrets: ["model", "providers", "providers/yaml", "providers/kvv2", "providers/kinds", "pipeline", "operations", "endpoints", "."],
  events: ["model", "audit", "changes", "streams", "relay", "."],
  app: ["model", "store", "start", "callers", "services", "."],
  authn: ["model", "sealing", "keys", "exchange", "provider", "callers", "."],
};

/** Folders of `web/src` from the lowest to the highest. */
export const webFolders: readonly string[] = [
  "strings",
  "theme",
  "model",
  "decisions",
  "session",
  "live",
  "ui",
  "api",
  "forms",
  "shell",
  "pages/requests",
  "pages/tools",
  "pages/tasks",
  "pages/runs",
  "pages/workflows",
  "pages/systems",
  "pages/definitions",
  "pages/imports",
  "pages/policies",
  "pages/secrets",
  "pages/home",
  "pages/why",
  "pages/delegations",
  "pages/denied",
];

interface Pattern {
  readonly group: string[];
  readonly message: string;
}

const UPWARDS: Pattern = { group: ["../*", "../**"], message: "Across modules import #module/file.ts." };
const PAGE = "(docs/explanation/architecture.md)";

/** The rule that forbids these imports, and always those by `../`. Of several that match a file, lint takes the last alone. */
export const restrict = (...patterns: readonly Pattern[]): OxlintOverride["rules"] => ({
  "no-restricted-imports": ["error", { patterns: [UPWARDS, ...patterns] }],
});

const inside = (names: readonly string[]): string[] => names.flatMap((name) => [`#${name}/*`, `#${name}/**`]);

const patternOf = (module: string): Pattern => {
  const allowed = modules[module] ?? [];
  const others = [...Object.keys(modules), ...above].filter((name) => name !== module && !allowed.includes(name));
  return { group: inside(others), message: `${module} may import ${["contract", ...allowed].join(", ")} only ${PAGE}.` };
};

const restrictWeb = (...patterns: readonly Pattern[]): OxlintOverride["rules"] => ({
  "no-restricted-imports": [
    "error",
    { patterns: [{ group: inside([...Object.keys(modules), ...above]), message: "web may import contract only." }, ...patterns] },
  ],
});

export const moduleRules: OxlintOverride[] = [
  {
    files: ["src/contract/**/*.ts"],
    rules: {
      "no-restricted-imports": [
        "error",
        { patterns: [{ group: ["*", "!zod", "!./*.ts"], message: "contract imports zod and nothing else." }] },
      ],
    },
  },
  ...Object.keys(modules).map((module) => ({ files: [`src/${module}/**/*.ts`], rules: restrict(patternOf(module)) })),
  {
    files: ["src/main.ts"],
    rules: restrict({ group: inside(["testing"]), message: `What tests share is no product ${PAGE}.` }),
  },
  { files: ["web/**/*.ts", "web/**/*.tsx"], rules: restrictWeb() },
  ...webFolders.map((folder, at) => ({
    files: [`web/src/${folder}/*.ts`, `web/src/${folder}/*.tsx`],
    rules: restrictWeb({
      group: webFolders.slice(at + 1).map((name) => `**/${name.replace("pages/", "")}/*`),
      message: `web/src/${folder} lies below ${webFolders.slice(at + 1).join(", ")} ${PAGE}.`,
    }),
  })),
  { files: ["web/**/*.test.ts"], rules: restrictWeb() },
];

/** The files of a folder, as those of another folder of its module name them. */
const filesIn = (module: string, folder: string, from: string): string[] => {
  if (folder === ".") return [`#${module}/*.ts`, `!#${module}/config.ts`];
  const below = from === "." ? `./${folder}` : folder.startsWith(`${from}/`) ? `.${folder.slice(from.length)}` : undefined;
  return [`#${module}/${folder}/*.ts`, ...(below === undefined ? [] : [`${below}/*.ts`])];
};

/** One override a folder: what its module may not import, and the folders above it. */
export const folderRules: OxlintOverride[] = Object.entries(folders).flatMap(([module, order]) =>
  order.map((folder, at) => {
    const higher = order.slice(at + 1);
    return {
      files: [folder === "." ? `src/${module}/*.ts` : `src/${module}/${folder}/*.ts`],
      rules: restrict(patternOf(module), {
        group: higher.flatMap((name) => filesIn(module, name, folder)),
        message: `${module}/${folder} lies below ${higher.join(", ")} ${PAGE}.`,
      }),
    };
  }),
);

import * as accessRequests from "./access-requests.ts";
import * as authzen from "./authzen.ts";
import * as budgets from "./budgets.ts";
import * as configs from "./configs.ts";
import * as imports from "./imports.ts";
import * as killSwitches from "./kill-switches.ts";
import * as credentials from "./credentials.ts";
import * as dataScopeRules from "./data-scope-rules.ts";
import * as decisions from "./decisions.ts";
import * as definitions from "./definitions.ts";
import * as delegations from "./delegations.ts";
import * as diagnostics from "./diagnostics.ts";
import type { Endpoint } from "./endpoint.ts";
import * as eventSchemas from "./event-schemas.ts";
import * as facts from "./facts.ts";
import * as forms from "./forms.ts";
import * as governance from "./governance.ts";
import * as graphEdit from "./graph-edit.ts";
import * as health from "./health.ts";
import * as membership from "./membership.ts";
import * as notifications from "./notifications.ts";
import * as outbox from "./outbox.ts";
import * as policies from "./policies.ts";
import * as policyBindings from "./policy-bindings.ts";
import * as registry from "./registry.ts";
import * as replay from "./replay.ts";
import * as replayTools from "./replay-tools.ts";
import * as reservations from "./reservations.ts";
import * as roles from "./roles.ts";
import * as rollouts from "./rollouts.ts";
import * as routes from "./routes.ts";
import * as scimTokens from "./scim-tokens.ts";
import * as searches from "./searches.ts";
import * as secretActs from "./secret-acts.ts";
import * as secretAudit from "./secret-audit.ts";
import * as secretListings from "./secret-listings.ts";
import * as secrets from "./secrets.ts";
import * as session from "./session.ts";
import * as signIns from "./sign-ins.ts";
import * as tasks from "./tasks.ts";
import * as tools from "./tools.ts";
import * as transfer from "./transfer.ts";
import * as waiting from "./waiting.ts";
import * as whatIf from "./what-if.ts";
import * as workflows from "./workflows.ts";
import * as workflowRuns from "./workflow-runs.ts";

export interface EndpointRow {
  /** The name by which code knows it, e.g. `listDelegations`; unique. */
  readonly name: string;
  /** The file that declares it, without `.ts`. */
  readonly topic: string;
  readonly endpoint: Endpoint;
}

const isEndpoint = (value: unknown): value is EndpointRow["endpoint"] =>
  typeof value === "object" && value !== null && "service" in value && "method" in value && "path" in value;

const lower = (noun: string): string => `${noun.slice(0, 1).toLowerCase()}${noun.slice(1)}`;
const namesOf: Readonly<Record<keyof typeof configs.configKinds.system.endpoints, (noun: string) => string>> = {
  read: (noun) => `read${noun}`,
  put: (noun) => `put${noun}`,
  versions: (noun) => `${lower(noun)}Versions`,
  version: (noun) => `${lower(noun)}Version`,
  diff: (noun) => `diff${noun}`,
  rollBack: (noun) => `rollBack${noun}`,
  list: (noun) => `listConfigured${noun}s`,
  create: (noun) => `create${noun}`,
  remove: (noun) => `delete${noun}`,
};
/** The endpoints of all kinds by the names that the reference has. */
const configKindEndpoints = Object.fromEntries(
  Object.values(configs.configKinds).flatMap(({ noun, endpoints, ...row }) => {
    const named = (of: string, all: Readonly<Record<string, Endpoint>>) =>
      Object.entries(all).map(([act, one]) => [namesOf[act as keyof typeof namesOf](of), one] as const);
    return [...named(noun, endpoints), ...named(`Served${noun}`, ("servedEndpoints" in row ? row.servedEndpoints : undefined) ?? {})];
  }),
);

/** Everything that is said in this deployment: what the reference is made from, and what the guards walk. */
export const endpointTable: readonly EndpointRow[] = Object.entries({
  "access-requests": accessRequests,
  authzen,
  budgets,
  configs: { ...configs, ...configKindEndpoints },
  imports,
  "kill-switches": killSwitches,
  credentials,
  "data-scope-rules": dataScopeRules,
  decisions,
  definitions,
  delegations,
  diagnostics,
  "event-schemas": eventSchemas,
  facts,
  forms,
  governance,
  "graph-edit": graphEdit,
  health,
  membership,
  notifications,
  outbox,
  policies,
  "policy-bindings": policyBindings,
  registry,
  replay,
  "replay-tools": replayTools,
  reservations,
  roles,
  rollouts,
  routes,
  "scim-tokens": scimTokens,
  searches,
  "secret-acts": secretActs,
  "secret-audit": secretAudit,
  "secret-listings": secretListings,
  secrets,
  session,
  "sign-ins": signIns,
  tasks,
  tools,
  transfer,
  waiting,
  "what-if": whatIf,
  workflows,
  "workflow-runs": workflowRuns,
}).flatMap(([topic, declared]) =>
  Object.entries<unknown>(declared)
    // As a module's own names are.
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([name, value]): EndpointRow[] => (isEndpoint(value) ? [{ name, topic, endpoint: value }] : [])),
);

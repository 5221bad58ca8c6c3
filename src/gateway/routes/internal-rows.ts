const forBoth = (id: string): readonly string[] => [id, `${id}.bearer`];
/** A question of AuthZEN, below both addresses of the decision point and with both credentials. */
const authzen = (form: string): readonly string[] => [...forBoth(`access.${form}`), ...forBoth(`pdp.${form}`)];

/** What the gateway does by itself for rows of the table, and the ids of those rows: a row with `target_service: internal` has one of them. */
const insideRows = {
  evaluation: authzen("evaluation"),
  evaluations: authzen("evaluations"),
  searchSubject: authzen("search.subject"),
  searchResource: authzen("search.resource"),
  searchAction: authzen("search.action"),
  streamHealth: ["streams.health"],
  waiting: ["waiting"],
  listSessions: ["sessions.list"],
  endSession: ["sessions.end"],
  endSessionsOf: ["sessions.end_of"],
  explain: forBoth("routes.explain"),
  reload: forBoth("routes.reload"),
  listOutbox: forBoth("outbox.list"),
  retryOutbox: forBoth("outbox.retry"),
  dropOutbox: forBoth("outbox.drop"),
  /** What has another address, or is for services alone. */
  notThere: ["crud.events", "crud.events.bare", "membership.pip", "membership.pip.bare"],
} as const satisfies Record<string, readonly string[]>;

type InsideTask = keyof typeof insideRows;

export const insideIds: readonly string[] = Object.values(insideRows).flat();

/** The handler of each row, by its id. */
export const byInsideRow = <Handler>(handlers: Readonly<Record<InsideTask, Handler>>): ReadonlyMap<string, Handler> =>
  new Map(Object.entries(insideRows).flatMap(([task, ids]) => ids.map((id) => [id, handlers[task as InsideTask]] as const)));

import type { Caller } from "./caller.ts";

/** Who acts, as audit entries and records tell them apart. Sallyport itself (`system`) asks nobody. */
export type ActorKind = "agent" | "service" | "person";

type Named = Pick<Caller, "sub" | "agent" | "clientId">;

/** An agent acts: for the person that the token names, or in its own name alone. */
export const isAgent = ({ agent, sub }: Pick<Named, "agent" | "sub">): boolean => agent !== undefined || sub.startsWith("agent:");

/** A service of Sallyport, or a client that asks in its own name. Nobody else gets the name of a service (`requireNoService`). */
export const isService = ({ sub, clientId }: Pick<Named, "sub" | "clientId">): boolean => sub.startsWith("service:") || sub === clientId;

/** Of who acts one for another, outermost first, the agents: services of Sallyport only passed the call on. */
export const agentsAmong = (actors: readonly string[]): readonly string[] => actors.filter((actor) => !actor.startsWith("service:"));

/** Who is neither an agent nor a service is a person: ids of persons come from their provider and may have any form. */
export const actorKindOf = (who: Named): ActorKind => (isAgent(who) ? "agent" : isService(who) ? "service" : "person");

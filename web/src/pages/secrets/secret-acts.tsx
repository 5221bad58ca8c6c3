import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { Standing } from "../../decisions/use-can.ts";
import { useStandings } from "../../decisions/use-cans.ts";
import { secretWords } from "../../strings/secrets.ts";
import { Icon } from "../../ui/icon.tsx";

export type ActName = keyof typeof secretWords.acts;

/** What the decision point is asked for an act; all of them have to be let through. */
const actions: Readonly<Record<ActName, readonly string[]>> = {
  write: ["write"],
  rotate: ["rotate"],
  remove: ["delete"],
  copy: ["read"],
  move: ["read", "delete"],
  delete: ["delete"],
  destroy: ["delete", "destroy_versions"],
  restore: ["undelete"],
};

const dangerous: ReadonlySet<ActName> = new Set(["delete", "destroy", "remove"]);

const together = (standings: readonly Standing[]): Standing =>
  standings.find(({ can, isStepUp }) => can === "denied" && !isStepUp) ??
  standings.find(({ can }) => can !== "allowed") ??
  standings[0] ?? { can: "unknown", decisionId: undefined, isStepUp: false };

/** Where each act stands for this person. A sign-in that is not strong enough is no denial: the act leads to the stronger one. */
export const useActs = (uri: string, names: readonly ActName[]): ReadonlyMap<ActName, Standing> => {
  const asks = names.flatMap((name) => actions[name].map((action) => ({ type: "secret", id: uri, action })));
  const unique = [...new Map(asks.map((ask) => [ask.action, ask])).values()];
  const standings = useStandings(unique);
  const of = (action: string): Standing[] => standings.filter((_standing, at) => unique[at]?.action === action);
  return new Map(names.map((name) => [name, together(actions[name].flatMap(of))]));
};

const isOffered = (standing: Standing | undefined): boolean => standing?.can === "allowed" || standing?.isStepUp === true;

/** The acts that this person may begin as buttons, and those that they may not with the decision that says why. */
export const ActButtons = ({
  acts,
  isSmall = false,
  onOpen,
}: {
  readonly acts: ReadonlyMap<ActName, Standing>;
  readonly isSmall?: boolean;
  readonly onOpen: (name: ActName) => void;
}): ReactElement => {
  const offered = [...acts].filter(([, standing]) => isOffered(standing));
  const denied = [...acts].filter(([, standing]) => standing.can === "denied" && !standing.isStepUp);
  return (
    <div className="sp-stack sp-tight">
      {offered.length === 0 ? null : (
        <div className="sp-actions">
          {offered.map(([name, { isStepUp }]) => (
            <Button
              key={name}
              size={isSmall ? "compact-xs" : undefined}
              variant="default"
              className={dangerous.has(name) ? "sp-dangerous" : undefined}
              leftSection={isStepUp ? <Icon name="key" size={14} /> : undefined}
              onClick={() => onOpen(name)}
            >
              {secretWords.acts[name]}
            </Button>
          ))}
        </div>
      )}
      {denied.length === 0 ? null : (
        <p className="sp-small sp-dim">
          {secretWords.notForYou}
          {denied.map(([name, { decisionId }]) => (
            <span key={name}>
              {" "}
              {decisionId === undefined ? (
                secretWords.acts[name]
              ) : (
                <Link
                  className="sp-link"
                  to="/why/$decisionId"
                  params={{ decisionId }}
                  aria-label={secretWords.refused(secretWords.acts[name])}
                >
                  {secretWords.acts[name]}
                </Link>
              )}
            </span>
          ))}
        </p>
      )}
    </div>
  );
};

import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { useStanding } from "../../decisions/use-can.ts";
import { secretWords } from "../../strings/secrets.ts";
import { visibleText } from "../../strings/format.ts";
import { DecisionLink } from "../../ui/links.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Reveal } from "./reveal.tsx";
import { ActButtons, useActs, type ActName } from "./secret-acts.tsx";
import { keyUri } from "./secret-place.ts";

const text = secretWords;

/** Whether this person may have the value shown, and why not. */
const Value = ({ uri, version }: { readonly uri: string; readonly version: string | undefined }): ReactElement | null => {
  const { can, decisionId, isStepUp } = useStanding({ type: "secret", id: uri, action: "read" });
  if (can === "pending") return null;
  // Anything but a plain no is put to the server, which decides anew.
  if (can !== "denied" || isStepUp) return <Reveal key={`${uri} ${version ?? ""}`} uri={uri} version={version} />;
  return (
    <p className="sp-dim">
      {text.reveal.denied} {decisionId === undefined ? null : <DecisionLink id={decisionId}>{text.plan.why}</DecisionLink>}
    </p>
  );
};

/** One key: its value for who may see it, and what may be done with it. */
export const KeyPanel = ({
  uri,
  secretKey,
  version,
  isWritable,
  onOpen,
}: {
  readonly uri: string;
  readonly secretKey: string;
  readonly version: string | undefined;
  readonly isWritable: boolean;
  readonly onOpen: (name: ActName) => void;
}): ReactElement => {
  const target = keyUri(uri, secretKey);
  const acts = useActs(target, isWritable && version === undefined ? ["rotate", "remove"] : []);
  return (
    <Panel
      title={visibleText(secretKey)}
      aside={
        version === undefined ? null : (
          <span className="sp-small">
            {text.version.seen(version)}{" "}
            <Link className="sp-link" to="/secrets/one" search={(before) => ({ uri, key: before.key })}>
              {text.version.newest}
            </Link>
          </span>
        )
      }
    >
      <div className="sp-stack">
        <ActButtons acts={acts} onOpen={onOpen} />
        <div className="sp-stack sp-tight">
          <h3>{text.reveal.title}</h3>
          <Value uri={target} version={version} />
        </div>
      </div>
    </Panel>
  );
};

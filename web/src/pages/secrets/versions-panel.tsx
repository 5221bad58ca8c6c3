import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { SecretDetail } from "../../api/secrets.ts";
import { secretWords } from "../../strings/secrets.ts";
import { formatMoment } from "../../strings/format.ts";
import { Chip } from "../../ui/chip.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Rows, type Column } from "../../ui/rows.tsx";
import { ActButtons, type ActName, type useActs } from "./secret-acts.tsx";

const text = secretWords.version;
type Version = SecretDetail["versions"][number];

const looks = {
  active: { tone: "allow", icon: "check" },
  deleted: { tone: "stepup", icon: "clock" },
  destroyed: { tone: "deny", icon: "cross" },
} as const;

/** The versions that are kept, the newest first, and what may be done with each. */
export const VersionsPanel = ({
  uri,
  detail,
  acts,
  onOpen,
}: {
  readonly uri: string;
  readonly detail: SecretDetail;
  readonly acts: ReturnType<typeof useActs>;
  readonly onOpen: (act: ActName, version: number) => void;
}): ReactElement => {
  const actsOf = ({ state }: Version): ReturnType<typeof useActs> => {
    const named: readonly ActName[] = state === "deleted" ? ["restore", "destroy"] : state === "active" ? ["destroy"] : [];
    return new Map([...acts].filter(([name]) => named.includes(name)));
  };
  const columns: readonly Column<Version>[] = [
    {
      key: "version",
      title: text.number,
      cell: ({ version, state }) => {
        const isNewest = version === detail.current_version;
        return (
          <span>
            {state === "active" ? (
              <Link
                className="sp-link"
                to="/secrets/one"
                search={(before) => ({ uri, key: before.key, version: isNewest ? "" : String(version) })}
                aria-label={`${text.number} ${version}`}
              >
                {version}
              </Link>
            ) : (
              version
            )}
            {isNewest ? <span className="sp-small sp-dim"> {text.current}</span> : null}
          </span>
        );
      },
    },
    { key: "state", title: text.state, cell: ({ state }) => <Chip {...looks[state]} text={text.states[state]} /> },
    { key: "written", title: text.written, cell: ({ created_time: at }) => <span className="sp-nowrap">{formatMoment(at)}</span> },
    {
      key: "until",
      title: text.until,
      cell: ({ deletion_time: at }) => (at === null ? null : <span className="sp-nowrap">{formatMoment(at)}</span>),
    },
    {
      key: "acts",
      title: text.acts,
      cell: (version) => <ActButtons isSmall acts={actsOf(version)} onOpen={(name) => onOpen(name, version.version)} />,
    },
  ];
  return (
    <Panel title={text.title}>
      <Rows caption={text.title} columns={columns} rows={detail.versions} keyOf={({ version }) => String(version)} />
    </Panel>
  );
};

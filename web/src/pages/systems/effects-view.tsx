import type { ReactElement, ReactNode } from "react";
import type { ConfigDiff, ConfigWritten, DecisionsChanged, DefinitionChange } from "#contract/configs.ts";
import { words } from "../../strings/en.ts";
import { visibleText } from "../../strings/format.ts";
import { systemWords } from "../../strings/systems.ts";
import { Chip } from "../../ui/chip.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { DelegationLink } from "../../ui/links.tsx";

const text = systemWords.report;
const MAX_NAMES = 200;

const risks = {
  none: { tone: "quiet", icon: "check" },
  review: { tone: "stepup", icon: "warning" },
  breaking: { tone: "deny", icon: "warning" },
} as const;

const Part = ({ title, children }: { readonly title: string; readonly children: ReactNode }): ReactElement => (
  <div>
    <h3>{title}</h3>
    {children}
  </div>
);

/** Names in a list; absent where there is none. */
export const NameList = ({ title, names }: { readonly title: string; readonly names: readonly string[] }): ReactElement | null =>
  names.length === 0 ? null : (
    <Part title={title}>
      <ul className="sp-issue-list">
        {names.slice(0, MAX_NAMES).map((name) => (
          <li key={name}>
            <Foreign text={name} isCode />
          </li>
        ))}
      </ul>
      {names.length > MAX_NAMES ? <p className="sp-dim">{text.more(names.length - MAX_NAMES)}</p> : null}
    </Part>
  );

const valueText = (value: unknown): string => (value === undefined ? text.absent : JSON.stringify(value));

/** What differs between two definitions of a tool, with what that means for whoever calls it. */
export const ChangeList = ({
  changes,
  isShown = false,
}: {
  readonly changes: readonly DefinitionChange[];
  /** With the values before and after. */
  readonly isShown?: boolean;
}): ReactElement => (
  <ul className="sp-issue-list">
    {changes.map(({ path, kind, risk, before, after }) => (
      <li key={`${kind} ${path}`}>
        {text.kinds[kind]} <Foreign text={path} isCode /> <Chip {...risks[risk]} text={text.risks[risk]} />
        {isShown ? (
          <div className="sp-dim">
            <Foreign text={valueText(before)} isCode /> → <Foreign text={valueText(after)} isCode />
          </div>
        ) : null}
      </li>
    ))}
  </ul>
);

const Altered = ({ tools }: { readonly tools: ConfigDiff["tools_changed"] }): ReactElement | null =>
  tools.length === 0 ? null : (
    <Part title={text.altered(tools.length)}>
      <ul className="sp-issue-list">
        {tools.slice(0, MAX_NAMES).map(({ name, changes }) => (
          <li key={name}>
            <Foreign text={name} isCode />
            {changes.every(({ path }) => path.startsWith("/rules/")) ? <span className="sp-dim"> {text.rules}</span> : null}
            <ChangeList changes={changes} />
          </li>
        ))}
      </ul>
      {tools.length > MAX_NAMES ? <p className="sp-dim">{text.more(tools.length - MAX_NAMES)}</p> : null}
    </Part>
  );

type AffectedRow = NonNullable<ConfigDiff["capabilities_affected"]>[number];

const Affected = ({ rows, why }: { readonly rows: readonly AffectedRow[]; readonly why: string }): ReactElement | null =>
  rows.length === 0 ? null : (
    <Part title={text.affected(rows.length)}>
      <p className="sp-dim">{why}</p>
      <ul className="sp-issue-list">
        {rows.slice(0, MAX_NAMES).map(({ delegation_id: id, user_id: person, agent_id: agent, tool }) => (
          <li key={`${id} ${tool}`}>
            <Foreign text={tool} isCode /> <span className="sp-dim">{visibleText(text.affectedOf(agent, person))}</span>{" "}
            <DelegationLink id={id} />
          </li>
        ))}
      </ul>
      {rows.length > MAX_NAMES ? <p className="sp-dim">{text.more(rows.length - MAX_NAMES)}</p> : null}
    </Part>
  );

type Outcome = DecisionsChanged["examples"][number]["before"];
const outcomeText = ({ decision, reason = "" }: Outcome): string =>
  decision ? text.permitted : text.denied(words.reasons[reason] ?? reason);

/** How the last recorded calls of the tools that change would be decided; silent where none was recorded. */
const Decisions = ({ reported }: { readonly reported: DecisionsChanged }): ReactElement | null => {
  const counts = [
    [reported.newly_denied, text.newlyDenied],
    [reported.newly_allowed, text.newlyAllowed],
    [reported.changed, text.otherwise],
    [reported.not_replayable, text.untold],
  ] as const;
  return reported.evaluated === 0 ? null : (
    <Part title={text.decisions}>
      <p>
        {[text.decided(reported.evaluated), ...counts.filter(([count]) => count > 0).map(([count, say]) => say(count))].join(", ")}
        {reported.complete ? null : <span className="sp-dim"> {text.incomplete}</span>}
      </p>
      <ul className="sp-issue-list">
        {reported.examples.map(({ decision_id: id, tool, before, after }) => (
          <li key={id}>
            <Foreign text={tool} isCode /> {outcomeText(before)} → {outcomeText(after)} <Foreign text={id} isCode />
          </li>
        ))}
      </ul>
    </Part>
  );
};

/** What a change does to tools, views, addresses and secrets, and of a dry run to who uses them. */
export const EffectsView = ({
  written: { diff, warnings },
}: {
  readonly written: Pick<ConfigWritten, "diff" | "warnings">;
}): ReactElement => {
  const {
    tools_added: added,
    tools_removed: removed,
    tools_changed: altered,
    views_changed: views,
    settings_changed: settings,
    hosts_added: hosts,
    secrets_added: secrets,
    capabilities_affected: affected = [],
    decisions_changed: decisions,
  } = diff;
  const gone = new Set(removed);
  const isQuiet = [added, removed, altered, views, settings, hosts, secrets, affected].every(({ length }) => length === 0);
  return (
    <div className="sp-stack">
      {isQuiet ? <p className="sp-dim">{text.nothing}</p> : null}
      <NameList title={text.added(added.length)} names={added} />
      <NameList title={text.removed(removed.length)} names={removed} />
      <Altered tools={altered} />
      <Affected rows={affected.filter(({ tool }) => gone.has(tool))} why={text.affectedWhy.goes} />
      <Affected rows={affected.filter(({ tool }) => !gone.has(tool))} why={text.affectedWhy.changes} />
      {decisions === undefined ? null : <Decisions reported={decisions} />}
      <NameList title={text.views} names={views} />
      {settings.length === 0 ? null : (
        <Part title={text.settings}>
          <ChangeList changes={settings} isShown />
        </Part>
      )}
      <NameList title={text.hosts} names={hosts} />
      <NameList title={text.secrets} names={secrets} />
      {warnings.length === 0 ? null : (
        <Part title={text.warnings}>
          <ul className="sp-issue-list">
            {warnings.map((warning) => (
              <li key={warning}>
                <Foreign text={warning} />
              </li>
            ))}
          </ul>
        </Part>
      )}
    </div>
  );
};

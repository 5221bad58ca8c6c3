import type { ReactElement, ReactNode } from "react";
import type { ConfigDiff, ConfigWritten, DefinitionChange } from "#contract/configs.ts";
import { systemWords } from "../../strings/systems.ts";
import { Chip } from "../../ui/chip.tsx";
import { Foreign } from "../../ui/foreign.tsx";

const text = systemWords.report;
const MOST_NAMES = 200;

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
      <ul className="sp-fault-list">
        {names.slice(0, MOST_NAMES).map((name) => (
          <li key={name}>
            <Foreign text={name} isCode />
          </li>
        ))}
      </ul>
      {names.length > MOST_NAMES ? <p className="sp-dim">{text.more(names.length - MOST_NAMES)}</p> : null}
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
  <ul className="sp-fault-list">
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
      <ul className="sp-fault-list">
        {tools.slice(0, MOST_NAMES).map(({ name, changes }) => (
          <li key={name}>
            <Foreign text={name} isCode />
            {changes.every(({ path }) => path.startsWith("/rules/")) ? <span className="sp-dim"> {text.rules}</span> : null}
            <ChangeList changes={changes} />
          </li>
        ))}
      </ul>
      {tools.length > MOST_NAMES ? <p className="sp-dim">{text.more(tools.length - MOST_NAMES)}</p> : null}
    </Part>
  );

/** What a change does to tools, views, addresses and secrets. */
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
  } = diff;
  const isQuiet = [added, removed, altered, views, settings, hosts, secrets].every(({ length }) => length === 0);
  return (
    <div className="sp-stack">
      {isQuiet ? <p className="sp-dim">{text.nothing}</p> : null}
      <NameList title={text.added(added.length)} names={added} />
      <NameList title={text.removed(removed.length)} names={removed} />
      <Altered tools={altered} />
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
          <ul className="sp-fault-list">
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

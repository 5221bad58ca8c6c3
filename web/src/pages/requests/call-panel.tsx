import { pointerText } from "#contract/json-pointer.ts";
import type { ReactElement } from "react";
import type { ShownCall } from "#contract/access-requests.ts";
import { words } from "../../strings/en.ts";
import { formatMoney, visibleText } from "../../strings/format.ts";
import { requestWords } from "../../strings/requests.ts";
import { Fact, FactList } from "../../ui/fact-list.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { Panel } from "../../ui/panel.tsx";

const text = requestWords.call;

const membersOf = (value: unknown): readonly (readonly [string, unknown])[] =>
  typeof value === "object" && value !== null ? Object.entries(value) : [];

/** Text is shown as it is, with its hidden characters; all else as JSON, so that a number is not taken for a text. */
const Value = ({ value }: { readonly value: unknown }): ReactElement => {
  if (typeof value === "object" && value !== null)
    return (
      <pre className="sp-code" tabIndex={0}>
        {visibleText(JSON.stringify(value, undefined, 2))}
      </pre>
    );
  return <Foreign text={JSON.stringify(value)} isCode />;
};

/** What would be done: the very call that an approval would hold for, without its secrets. */
export const CallPanel = ({ call }: { readonly call: ShownCall }): ReactElement => {
  const { tool } = call;
  const hidden = new Set(call.masked);
  const members = membersOf(call.arguments);
  return (
    <Panel title={text.title}>
      <div className="sp-stack">
        <FactList>
          <Fact name={text.tool}>
            {tool && (
              <>
                {tool.title === undefined ? null : (
                  <>
                    <Foreign text={tool.title} />{" "}
                  </>
                )}
                <Foreign text={tool.name} isCode />
              </>
            )}
          </Fact>
          <Fact name={text.cost}>{call.cost_usd === undefined ? undefined : formatMoney(call.cost_usd)}</Fact>
        </FactList>
        <h3>{text.arguments}</h3>
        {members.length === 0 ? (
          <p className="sp-dim">{words.common.none}</p>
        ) : (
          <FactList>
            {members.map(([name, value]) => (
              <Fact key={name} name={visibleText(name)}>
                {hidden.has(pointerText([name])) ? <span className="sp-dim">{text.hidden}</span> : <Value value={value} />}
              </Fact>
            ))}
          </FactList>
        )}
        {hidden.size === 0 ? null : (
          <p className="sp-small sp-dim">
            {text.hiddenAt} <Foreign text={[...hidden].join(", ")} isCode />
          </p>
        )}
      </div>
    </Panel>
  );
};

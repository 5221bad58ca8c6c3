import { pointerText } from "#contract/json-pointer.ts";
import type { ReactElement } from "react";
import type { ShownCall } from "#contract/access-requests.ts";
import { formatMoney } from "../../strings/format.ts";
import { requestWords } from "../../strings/requests.ts";
import { Fact, FactList } from "../../ui/fact-list.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { MemberFacts } from "../../ui/member-facts.tsx";
import { Panel } from "../../ui/panel.tsx";

const text = requestWords.call;

/** What would be done: the very call that an approval would hold for, without its secrets. */
export const CallPanel = ({ call }: { readonly call: ShownCall }): ReactElement => {
  const { tool } = call;
  const hidden = new Set(call.masked);
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
        <MemberFacts value={call.arguments} hides={(name) => (hidden.has(pointerText([name])) ? text.hidden : undefined)} />
        {hidden.size === 0 ? null : (
          <p className="sp-small sp-dim">
            {text.hiddenAt} <Foreign text={[...hidden].join(", ")} isCode />
          </p>
        )}
      </div>
    </Panel>
  );
};

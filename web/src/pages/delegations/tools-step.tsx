import { Checkbox, Radio } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";
import { useClient } from "../../api/client-context.ts";
import { agentToolsQuery } from "../../api/nodes.ts";
import { toolListQuery } from "../../api/tools.ts";
import { words } from "../../strings/en.ts";
import { grantWords } from "../../strings/grant.ts";
import { formatCount, visibleText } from "../../strings/format.ts";
import { Foreign } from "../../ui/foreign.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { faultyFields } from "./grant-draft.ts";
import type { StepProps } from "./step-props.ts";
import { StepForm } from "../../ui/step-form.tsx";

/** Tools of mine that the agent is not able to use: named, so that nobody searches for them in vain. */
const Lacking = ({ own, able }: { readonly own: readonly string[]; readonly able: ReadonlySet<string> }): ReactElement | null => {
  const lacking = own.filter((name) => !able.has(name));
  if (lacking.length === 0) return null;
  return (
    <details>
      <summary className="sp-dim">
        {grantWords.toolsLackingTitle} {words.common.aside(formatCount(lacking.length))}
      </summary>
      <ul className="sp-list">
        {lacking.map((name) => (
          <li key={name} className="sp-list-row sp-dim">
            <Foreign text={name} isCode />
            <span className="sp-small">{grantWords.toolLacking}</span>
          </li>
        ))}
      </ul>
    </details>
  );
};

/** Which of the agent's tools it may use for the person. */
export const ToolsStep = ({ form, onChange, onNext, onBack }: StepProps): ReactElement => {
  const query = useQuery(agentToolsQuery(useClient(), form.agentId));
  const own = useQuery(toolListQuery(useClient())).data?.tools.map(({ name }) => name);
  /** An agent calls for a person what that person may call: of the others it is said here, not by the first call. */
  const isResting = (id: string): boolean => own?.includes(id) === false;
  const [hasTried, setTried] = useState(false);
  const isWrong = faultyFields("tools", form, new Date()).length > 0;
  const chosen = form.tools;
  const setSome = (tools: readonly string[]): void => onChange({ ...form, tools: [...tools] });
  const setAll = (): void => {
    const { tools: _dropped, ...rest } = form;
    onChange(rest);
  };
  return (
    <StepForm
      issues={isWrong ? [{ field: "tools-choice", text: grantWords.toolsIssue }] : []}
      hasTried={hasTried}
      onTried={setTried}
      onNext={onNext}
      onBack={onBack}
    >
      <QueryView query={query} service="membership">
        {(able) => (
          <div className="sp-stack">
            <Radio.Group
              label={grantWords.toolsLegend}
              value={chosen === undefined ? "all" : "some"}
              onChange={(value) => (value === "all" ? setAll() : setSome([]))}
            >
              <div className="sp-stack">
                <Radio value="some" label={grantWords.toolsSome} />
                <Radio value="all" label={grantWords.toolsAll} />
              </div>
            </Radio.Group>
            {able.length === 0 ? <p className="sp-dim">{grantWords.toolsEmpty}</p> : null}
            {chosen === undefined ? (
              <ul className="sp-list">
                {able.map((tool) => (
                  <li key={tool.id}>
                    <Foreign text={tool.id} isCode />
                    {isResting(tool.id) ? <span className="sp-small sp-dim"> {words.common.aside(grantWords.toolResting)}</span> : null}
                  </li>
                ))}
              </ul>
            ) : (
              <Checkbox.Group
                id="tools-choice"
                tabIndex={-1}
                aria-label={grantWords.toolsLegend}
                value={chosen}
                onChange={setSome}
                error={hasTried && isWrong ? grantWords.toolsIssue : undefined}
              >
                <div className="sp-stack">
                  {able.map((tool) => (
                    <Checkbox
                      key={tool.id}
                      value={tool.id}
                      label={<Foreign text={tool.id} isCode />}
                      description={
                        words.common.facts(
                          tool.name === tool.id ? "" : visibleText(tool.name),
                          isResting(tool.id) ? grantWords.toolResting : "",
                        ) || undefined
                      }
                    />
                  ))}
                </div>
              </Checkbox.Group>
            )}
            <Lacking own={own ?? []} able={new Set(able.map((tool) => tool.id))} />
          </div>
        )}
      </QueryView>
    </StepForm>
  );
};

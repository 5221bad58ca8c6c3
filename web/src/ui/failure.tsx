import { Button } from "@mantine/core";
import type { ReactElement } from "react";
import type { Issue } from "#contract/problem.ts";
import { GatewayError, memberOf } from "../model/gateway-error.ts";
import { readStepUp, type StepUp } from "../session/step-up.ts";
import { useStepUp } from "./step-up-provider.tsx";
import { words } from "../strings/en.ts";
import { CopyButton } from "./copy-button.tsx";
import { Fact, FactList, TextFact } from "./fact-list.tsx";
import { Foreign } from "./foreign.tsx";
import { Icon } from "./icon.tsx";
import { DecisionLink } from "./links.tsx";
import { Crashed } from "./panel.tsx";

interface Said {
  readonly tone: "deny" | "stepup" | "quiet";
  readonly title: string;
  readonly sentence: string | undefined;
}

const network = new Set(["upstream_unavailable", "upstream_timeout"]);

const byStatus: Readonly<Record<number, string>> = {
  412: words.failure.stale,
  413: words.failure.tooLarge,
  429: words.failure.tooMany,
};

/** What a failure is called, and in which tone. */
const say = (error: GatewayError): Said => {
  const { problem } = error;
  const { detail } = problem.options;
  if (problem.code === "step_up_required") return { tone: "stepup", title: words.stepUp.title, sentence: words.stepUp.sentence };
  if (problem.code === "outcome_unknown")
    return { tone: "stepup", title: words.failure.unknownTitle, sentence: words.failure.unknownSentence };
  if (problem.code === "upstream_bad_response") return { tone: "deny", title: problem.title, sentence: words.failure.badAnswer };
  if (network.has(problem.code) && problem.options.members === undefined)
    return { tone: "deny", title: words.failure.networkTitle, sentence: undefined };
  if (problem.status === 404) return { tone: "quiet", title: words.failure.absentTitle, sentence: words.failure.absentSentence };
  if (problem.status === 403) {
    const reason = memberOf(error, "reason");
    const coarse = reason === undefined ? undefined : words.reasons[reason];
    return { tone: "deny", title: words.failure.deniedTitle, sentence: detail ?? coarse ?? words.failure.deniedSentence };
  }
  return { tone: "deny", title: problem.title, sentence: byStatus[problem.status] ?? detail };
};

/** curl of the failed call, with a placeholder for the credential. */
const curlOf = (error: GatewayError): string =>
  `curl -sS -X ${error.call.method} '${location.origin}${error.call.path}' -H "Authorization: Bearer $TOKEN" -H 'X-Correlation-ID: ${error.correlationId}'`;

/** What is wrong with what was sent, each with its place. */
export const Issues = ({ issues }: { readonly issues: readonly Issue[] }): ReactElement | null =>
  issues.length === 0 ? null : (
    <ul className="sp-issue-list">
      {issues.map(({ path, message }) => (
        <li key={`${path} ${message}`}>
          <Foreign text={path} isCode /> <Foreign text={message} />
        </li>
      ))}
    </ul>
  );

/** The way to the stronger sign-in that was asked for. */
export const StepUpButton = ({ stepUp }: { readonly stepUp: StepUp }): ReactElement => {
  const askStepUp = useStepUp();
  return (
    <Button leftSection={<Icon name="key" />} onClick={() => askStepUp(stepUp)}>
      {words.stepUp.way}
    </Button>
  );
};

/** A refusal or failure, told whole: what, why, under which ids, and the way out. */
export const Failure = ({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }): ReactElement => {
  if (!(error instanceof GatewayError)) return <Crashed onRetry={onRetry} />;
  const said = say(error);
  const { problem } = error;
  const decisionId = memberOf(error, "decision_id");
  const stepUp = readStepUp({ ...problem.options.members, code: problem.code }, problem.options.headers?.["www-authenticate"] ?? null);
  return (
    <div className="sp-state sp-failure" data-tone={said.tone} role="alert">
      <strong>{said.title}</strong>
      {said.sentence === undefined ? null : (
        <p>
          <Foreign text={said.sentence} />
        </p>
      )}
      <Issues issues={problem.options.errors ?? []} />
      <FactList isSmall>
        <TextFact name={words.failure.code} text={problem.code} isCode />
        <Fact name={words.failure.decision}>{decisionId && <DecisionLink id={decisionId} />}</Fact>
        <TextFact name={words.failure.correlation} text={error.correlationId} isCode />
      </FactList>
      <div className="sp-actions">
        {stepUp && <StepUpButton stepUp={stepUp} />}
        {onRetry === undefined || problem.status === 404 ? null : (
          <Button variant="default" onClick={onRetry}>
            {words.common.retry}
          </Button>
        )}
        <CopyButton label={words.common.copyCall} text={() => curlOf(error)} />
      </div>
    </div>
  );
};

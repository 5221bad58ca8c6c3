import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";
import { useClient } from "../../api/client-context.ts";
import { systemListQuery, type ImportTarget, type Looked, type SystemRow } from "../../api/systems.ts";
import { useDraft } from "../../session/use-draft.ts";
import { systemWords } from "../../strings/systems.ts";
import { Page } from "../../ui/page.tsx";
import { Steps } from "../../ui/steps.tsx";
import { RestoredNotice } from "../systems/restored-notice.tsx";
import { useSay } from "../systems/said.tsx";
import { CheckStep } from "./check-step.tsx";
import { ConnectStep } from "./connect-step.tsx";
import { DocumentStep } from "./document-step.tsx";
import { acceptBody, emptyImport, faultyFields, importShape, steps, type ImportDraft, type Step } from "./import-draft.ts";
import { PickStep } from "./pick-step.tsx";
import type { StepProps } from "./step-props.ts";

const route = getRouteApi("/systems/import");
const text = systemWords.importing;

/** As far as the answers reach. */
const furthest = (own: readonly Step[], draft: ImportDraft, isUpdate: boolean): Step => {
  if (draft.looked === undefined) return "document";
  return own.slice(1).find((step) => faultyFields(step, draft, false, isUpdate).length > 0) ?? "check";
};

const targetOf = (draft: ImportDraft, { import_id: id }: Looked, present: SystemRow | undefined): ImportTarget =>
  present === undefined
    ? { id, body: acceptBody(draft) }
    : { id, system: present.name, etag: present.etag, pick: draft.fields.takes === "some" ? draft.picks : [] };

/** From an OpenAPI document to a system, or to the next version of one that was made from it. */
export const ImportPage = (): ReactElement => {
  const { step: asked = "document", system } = route.useSearch();
  const leave = useNavigate();
  const say = useSay();
  const systems = useQuery(systemListQuery(useClient()));
  const [initial] = useState(() => emptyImport(system));
  const draft = useDraft(`import.${system ?? ""}`, initial, importShape);
  const { fields, looked } = draft.value;
  const present = systems.data?.systems.find(({ name }) => name === `${fields.provider}.${fields.instance}`);
  // What is there keeps its own address and sign-in.
  const own: readonly Step[] = present === undefined ? steps : steps.filter((step) => step !== "connect");
  const reached = furthest(own, draft.value, present !== undefined);
  const wanted = own.find((step) => step === asked) ?? "document";
  const step = own.indexOf(wanted) <= own.indexOf(reached) ? wanted : reached;
  const at = own.indexOf(step);
  const go = (to: Step): void => void leave({ to: "/systems/import", search: { step: to, ...(system === undefined ? {} : { system }) } });
  const onBack = (): void => go(own[at - 1] ?? "document");
  const props: StepProps = {
    draft: draft.value,
    present,
    onChange: draft.change,
    // Of another name it is another import: what was found is of the name that was looked at.
    onFields: (more) => {
      const isRenamed = step === "document" && looked !== undefined;
      const { looked: _old, ...rest } = draft.value;
      draft.change({ ...(isRenamed ? rest : draft.value), fields: { ...fields, ...more } });
    },
    onNext: () => go(own[at + 1] ?? "check"),
    onBack,
  };
  return (
    <Page
      title={text.title}
      lead={text.lead}
      actions={
        <>
          <Link className="sp-link" to="/systems">
            {systemWords.toList}
          </Link>
          <Button
            variant="default"
            onClick={() => {
              draft.forget();
              go("document");
            }}
          >
            {systemWords.one.discard}
          </Button>
        </>
      }
    >
      {draft.wasRestored && draft.value !== initial ? <RestoredNotice /> : null}
      <Steps steps={own} labels={text.steps} current={step} reached={reached} onGo={go}>
        {step === "document" || looked === undefined ? <DocumentStep {...props} /> : null}
        {step === "pick" && looked !== undefined ? <PickStep {...props} looked={looked} /> : null}
        {step === "connect" && looked !== undefined ? <ConnectStep {...props} /> : null}
        {step === "check" && looked !== undefined ? (
          <CheckStep
            target={targetOf(draft.value, looked, present)}
            onBack={onBack}
            onPublished={({ name, version, warnings }) => {
              draft.forget();
              say(name, { sentence: systemWords.one.published(name, version), warnings });
              void leave({ to: "/systems/$name", params: { name }, search: {} });
            }}
          />
        ) : null}
      </Steps>
    </Page>
  );
};

import { Button, Checkbox, NativeSelect, Radio, TextInput } from "@mantine/core";
import { useInfiniteQuery, useMutation } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";
import { importedOperations, type ImportedOperation } from "#contract/imports.ts";
import { useClient } from "../../api/client-context.ts";
import { importableKeys, type Looked } from "../../api/systems.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { words } from "../../strings/en.ts";
import { systemWords } from "../../strings/systems.ts";
import { ActButton } from "../../ui/act-button.tsx";
import { Chip } from "../../ui/chip.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Failure } from "../../ui/failure.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { PagedRows } from "../../ui/paged-rows.tsx";
import type { Column } from "../../ui/rows.tsx";
import { StepForm } from "../../ui/step-form.tsx";
import { useDebounced } from "../../ui/timers.ts";
import { FoundView } from "./found-view.tsx";
import { faultyFields } from "./import-draft.ts";
import type { StepProps } from "./step-props.ts";

const route = getRouteApi("/systems/import");
const text = systemWords.importing;

const columns: readonly Column<ImportedOperation>[] = [
  { key: "key", title: text.operation, wraps: true, cell: ({ key }) => <Foreign text={key} isCode /> },
  { key: "tool", title: text.tool, cell: ({ name }) => <Foreign text={name} isCode /> },
  {
    key: "hints",
    title: text.hints,
    cell: ({ hints }) =>
      words.common.facts(...(["read_only", "destructive", "idempotent"] as const).map((hint) => (hints[hint] ? text.hint[hint] : ""))),
  },
  {
    key: "problems",
    title: text.problems,
    wraps: true,
    cell: ({ importable, problems }) => (
      <>
        {importable ? null : <Chip tone="deny" icon="cross" text={text.notImportable} />} <Foreign text={problems.join("; ")} />
      </>
    ),
  },
];

const Operations = ({
  looked,
  picks,
  onPicks,
}: {
  readonly looked: Looked;
  readonly picks: readonly string[] | undefined;
  readonly onPicks: (picks: readonly string[]) => void;
}): ReactElement => {
  const client = useClient();
  const { q = "", tag = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const set = (more: Readonly<Record<string, string>>): void =>
    void navigate({ search: (before) => ({ ...before, ...more }), replace: true });
  const settled = useDebounced(q, 250);
  const filter = { q: settled || undefined, tag: tag || undefined };
  const query = useInfiniteQuery(
    useEndpoint(importedOperations).pages({ params: { id: looked.import_id }, query: { ...filter, limit: 50 } }),
  );
  const picking = useMutation({
    mutationFn: async () => await importableKeys(client, looked.import_id, filter),
    onSuccess: (keys) => onPicks([...new Set([...(picks ?? []), ...keys])]),
  });
  const chosen = new Set(picks);
  const choice: Column<ImportedOperation> = {
    key: "pick",
    title: text.pickTitle,
    cell: ({ key, importable }) =>
      importable ? (
        <Checkbox
          aria-label={text.pick(key)}
          checked={chosen.has(key)}
          onChange={(event) => onPicks(event.currentTarget.checked ? [...chosen, key] : [...chosen].filter((one) => one !== key))}
        />
      ) : null,
  };
  return (
    <>
      <div className="sp-filters" role="search" aria-label={words.common.filters}>
        <TextInput
          data-filter=""
          label={text.find}
          placeholder={text.findPlaceholder}
          value={q}
          maxLength={100}
          onChange={(event) => set({ q: event.currentTarget.value })}
        />
        <NativeSelect
          label={text.tag}
          value={tag}
          data={[
            { value: "", label: text.anyTag },
            ...looked.tags.map(({ name, operations }) => ({ value: name, label: text.tagOf(name, operations) })),
          ]}
          onChange={(event) => set({ tag: event.currentTarget.value })}
        />
        {picks === undefined ? null : (
          <>
            <ActButton variant="default" isBusy={picking.isPending} onClick={() => picking.mutate()}>
              {text.pickAll}
            </ActButton>
            <Button variant="default" onClick={() => onPicks([])}>
              {text.pickNone}
            </Button>
          </>
        )}
      </div>
      {picks === undefined ? null : <p role="status">{text.picked(picks.length)}</p>}
      {picking.isError ? <Failure error={picking.error} /> : null}
      <PagedRows
        query={query}
        service="crud"
        waiting={6}
        rowsOf={({ operations }) => operations}
        empty={<Empty text={text.noOperations} onClear={() => set({ q: "", tag: "" })} />}
        caption={text.operation}
        columns={picks === undefined ? columns : [choice, ...columns]}
        keyOf={({ key }) => key}
      />
    </>
  );
};

/** Which operations become tools. */
export const PickStep = ({
  draft,
  looked,
  present,
  onChange,
  onFields,
  onNext,
  onBack,
}: StepProps & { readonly looked: Looked }): ReactElement => {
  const [hasTried, setTried] = useState(false);
  const { fields, picks } = draft;
  const isWrong = faultyFields("pick", draft, false, present !== undefined).length > 0;
  const choices = present === undefined ? text.choices : text.freshChoices;
  return (
    <StepForm
      issues={isWrong ? [{ field: "picks", text: text.pickedIssue }] : []}
      hasTried={hasTried}
      onTried={setTried}
      onNext={onNext}
      onBack={onBack}
    >
      <FoundView looked={looked} />
      {present === undefined ? null : <p>{text.updates(present.name)}</p>}
      <Radio.Group id="picks" tabIndex={-1} label={text.choice} value={fields.takes} onChange={(takes) => onFields({ takes })}>
        <div className="sp-stack">
          {(["all", "some"] as const).map((value) => (
            <Radio key={value} value={value} label={choices[value]} />
          ))}
        </div>
      </Radio.Group>
      <Operations
        looked={looked}
        picks={fields.takes === "some" ? picks : undefined}
        onPicks={(next) => onChange({ ...draft, picks: next })}
      />
    </StepForm>
  );
};

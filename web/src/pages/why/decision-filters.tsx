import { NativeSelect, SegmentedControl, Switch, TextInput } from "@mantine/core";
import type { ReactElement } from "react";
import { reasons } from "#contract/authzen.ts";
import { useClient } from "../../api/client-context.ts";
import { decisionSuggestions, type DecisionValue } from "../../api/decisions.ts";
import { words } from "../../strings/en.ts";
import { whyWords } from "../../strings/why.ts";
import { SuggestInput } from "../../ui/suggest-input.tsx";
import { askedOf, type ListSearch } from "./list-filter.ts";
import { spans } from "#contract/page-search.ts";

export type Search = ListSearch & { readonly live?: string | undefined };

const fields: readonly {
  readonly name: "subject" | "agent" | "action" | "type" | "resource";
  readonly of: DecisionValue;
  readonly label: string;
}[] = [
  { name: "subject", of: "subject", label: whyWords.subject },
  { name: "agent", of: "agent", label: whyWords.agent },
  { name: "action", of: "action", label: whyWords.action },
  { name: "type", of: "resource_type", label: whyWords.resourceType },
  { name: "resource", of: "resource", label: whyWords.resourceName },
];

const periodOf = ({ span, from, to }: Search): string => span ?? (from === undefined && to === undefined ? "any" : "between");

/** A day and a minute of it, as the browser writes them. */
const localNow = (): string => {
  const at = new Date();
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
};

/** Which decisions are listed; each choice is in the address. */
export const DecisionFilters = ({
  search,
  canFollow,
  onChange,
}: {
  readonly search: Search;
  readonly canFollow: boolean;
  readonly onChange: (more: Partial<Record<keyof Search, string>>) => void;
}): ReactElement => {
  const client = useClient();
  const period = periodOf(search);
  const isMine = search.whose === "mine";
  return (
    <div className="sp-filters" role="search" aria-label={words.common.filters}>
      <SegmentedControl
        aria-label={whyWords.whose}
        value={search.whose ?? "all"}
        data={[
          { value: "all", label: whyWords.everyones },
          { value: "mine", label: whyWords.own },
        ]}
        onChange={(whose) => onChange(whose === "all" ? { whose: "" } : { whose, subject: "" })}
      />
      <NativeSelect
        label={whyWords.verdict}
        value={search.verdict ?? "denied"}
        data={[
          { value: "denied", label: whyWords.denied },
          { value: "allowed", label: whyWords.allowed },
          { value: "any", label: whyWords.any },
        ]}
        onChange={(event) => onChange({ verdict: event.currentTarget.value === "denied" ? "" : event.currentTarget.value })}
      />
      <NativeSelect
        label={whyWords.asked}
        value={askedOf(search)}
        data={[
          { value: "done", label: whyWords.askedDone },
          { value: "shown", label: whyWords.askedShown },
          { value: "any", label: whyWords.askedAny },
        ]}
        onChange={(event) => onChange({ asked: event.currentTarget.value })}
      />
      <NativeSelect
        label={whyWords.reason}
        value={search.reason ?? ""}
        data={[
          { value: "", label: whyWords.anyReason },
          ...reasons.map((reason) => ({ value: reason, label: words.reasons[reason] ?? reason })),
        ]}
        onChange={(event) => onChange({ reason: event.currentTarget.value })}
      />
      <NativeSelect
        label={whyWords.period}
        value={period}
        data={(["any", ...spans, "between"] as const).map((value) => ({ value, label: whyWords.spans[value] }))}
        onChange={(event) => {
          const next = event.currentTarget.value;
          const none = { span: "", from: "", to: "" };
          onChange(next === "any" ? none : next === "between" ? { ...none, to: localNow() } : { ...none, span: next });
        }}
      />
      {period !== "between"
        ? null
        : (["from", "to"] as const).map((end) => (
            <TextInput
              key={end}
              type="datetime-local"
              label={whyWords[end]}
              value={search[end] ?? ""}
              onChange={(event) => onChange({ [end]: event.currentTarget.value.slice(0, 16) })}
            />
          ))}
      {fields.map(({ name, of, label }, index) =>
        isMine && name === "subject" ? null : (
          <SuggestInput
            key={name}
            isFirst={index === (isMine ? 1 : 0)}
            label={label}
            placeholder={whyWords.find}
            value={search[name] ?? ""}
            suggest={(text) => decisionSuggestions(client, of, text)}
            onChange={(value) => onChange({ [name]: value })}
          />
        ),
      )}
      <SuggestInput label={whyWords.correlation} value={search.correlation ?? ""} onChange={(correlation) => onChange({ correlation })} />
      {canFollow ? (
        <Switch
          className="sp-live"
          label={whyWords.live}
          title={whyWords.liveHint}
          checked={search.live !== "off"}
          onChange={(event) => onChange({ live: event.currentTarget.checked ? "" : "off" })}
        />
      ) : null}
    </div>
  );
};

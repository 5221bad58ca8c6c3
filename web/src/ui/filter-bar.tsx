import { Button, Menu, Pill, PillsInput } from "@mantine/core";
import { useEffect, useState, type ReactElement } from "react";
import { words } from "../strings/en.ts";
import { formatCount, visibleText } from "../strings/format.ts";
import { Icon } from "./icon.tsx";

/** A property of the rows that a list is filtered by. */
export interface Facet {
  readonly key: string;
  readonly name: string;
  readonly value: string | undefined;
  /** Its values, each with the number of rows that have it. */
  readonly counts: ReadonlyMap<string, number>;
}

interface FilterBarProps {
  readonly label: string;
  readonly placeholder: string;
  readonly text: string;
  readonly facets: readonly Facet[];
  /** `undefined` takes a filter away; the text has the key `q`. */
  readonly onChange: (more: Readonly<Record<string, string | undefined>>) => void;
}

const FacetButton = ({ facet, onChange }: { readonly facet: Facet } & Pick<FilterBarProps, "onChange">): ReactElement => (
  <Menu position="bottom-start" withinPortal={false}>
    <Menu.Target>
      <Button
        variant="default"
        size="compact-sm"
        className="sp-facet"
        data-on={facet.value === undefined ? undefined : ""}
        rightSection={<Icon name="chevron" size={12} />}
      >
        {facet.name}
      </Button>
    </Menu.Target>
    <Menu.Dropdown className="sp-facet-values">
      <Menu.RadioGroup value={facet.value ?? ""} onChange={(value) => onChange({ [facet.key]: value === "" ? undefined : value })}>
        <Menu.RadioItem value="">{words.common.all}</Menu.RadioItem>
        {[...facet.counts].map(([value, count]) => (
          <Menu.RadioItem key={value} value={value} rightSection={<span className="sp-dim">{formatCount(count)}</span>}>
            {visibleText(value)}
          </Menu.RadioItem>
        ))}
      </Menu.RadioGroup>
    </Menu.Dropdown>
  </Menu>
);

/** The one search field of a list. Text and facets filter together; `facet:value` and Enter chooses a facet too. */
export const FilterBar = ({ label, placeholder, text, facets, onChange }: FilterBarProps): ReactElement => {
  const [typed, setTyped] = useState(text);
  useEffect(() => setTyped(text), [text]);
  const chosen = facets.filter(({ value }) => value !== undefined);
  const write = (q: string): void => {
    setTyped(q);
    onChange({ q });
  };
  const chooseTyped = (): void => {
    const [name = "", value = ""] = typed.trim().split(/:(.*)/);
    const facet = facets.find((one) => one.name.toLowerCase() === name.toLowerCase() && one.counts.has(value));
    if (facet !== undefined) onChange({ q: undefined, [facet.key]: value });
  };
  return (
    <div className="sp-stack sp-tight" role="search" aria-label={words.common.filters}>
      <PillsInput size="xs" leftSection={<Icon name="search" />}>
        <Pill.Group>
          {chosen.map(({ key, name, value = "" }) => (
            <Pill
              key={key}
              withRemoveButton
              removeButtonProps={{ "aria-label": words.common.removeFilter(name), "aria-hidden": false, tabIndex: 0 }}
              onRemove={() => onChange({ [key]: undefined })}
            >
              {words.common.named(name)}
              <strong>{visibleText(value)}</strong>
            </Pill>
          ))}
          <PillsInput.Field
            data-filter=""
            aria-label={label}
            placeholder={placeholder}
            value={typed}
            onChange={(event) => write(event.currentTarget.value)}
            onKeyDown={(event) => {
              const last = chosen.at(-1);
              if (event.key === "Enter") chooseTyped();
              else if (event.key === "Backspace" && typed === "" && last !== undefined) onChange({ [last.key]: undefined });
            }}
          />
        </Pill.Group>
      </PillsInput>
      <div className="sp-actions">
        {facets.map((facet) =>
          facet.counts.size < 2 && facet.value === undefined ? null : <FacetButton key={facet.key} facet={facet} onChange={onChange} />,
        )}
        {chosen.length === 0 && text === "" ? null : (
          <Button
            variant="subtle"
            size="compact-sm"
            onClick={() => onChange(Object.fromEntries(["q", ...facets.map(({ key }) => key)].map((key) => [key, undefined])))}
          >
            {words.common.clearFilters}
          </Button>
        )}
      </div>
    </div>
  );
};

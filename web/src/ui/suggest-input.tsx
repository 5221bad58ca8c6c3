import { TextInput } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useId, useState, type KeyboardEvent, type ReactElement } from "react";
import { words } from "../strings/en.ts";
import { visibleText } from "../strings/format.ts";
import { useDebounced } from "./timers.ts";

export interface Suggestion {
  readonly value: string;
  /** What people call it, where that is something else. */
  readonly label?: string;
}

/** What there is to choose for a text, and under which key it is remembered. */
export interface Suggestions {
  readonly key: readonly string[];
  readonly read: (signal: AbortSignal) => Promise<readonly Suggestion[]>;
}

const nothing: Suggestions = { key: ["suggestions", "none"], read: async () => [] };

export interface SuggestInputProps {
  readonly label: string;
  readonly value: string;
  readonly placeholder?: string;
  readonly id?: string;
  readonly description?: string;
  readonly error?: string | undefined;
  readonly required?: boolean;
  /** The first filter of its page: `/` goes there. */
  readonly isFirst?: boolean;
  /** Absent, or undefined for a text: nothing is offered. */
  readonly suggest?: (text: string) => Suggestions | undefined;
  /** After so long without a key, milliseconds, it is asked what there is. */
  readonly settleMs?: number;
  /** The text counts when it is chosen, when Enter is pressed, and when the field is left. */
  readonly onChange: (value: string) => void;
}

const SETTLE_MS = 150;

const hasText = ({ value, label = "" }: Suggestion, text: string): boolean =>
  [value, label].some((one) => one.toLowerCase().includes(text.trim().toLowerCase()));

/** A text field that knows what there is: names and ids are offered, and parts of them are a value too. */
export const SuggestInput = ({
  label,
  value,
  isFirst = false,
  suggest,
  settleMs = SETTLE_MS,
  onChange,
  ...field
}: SuggestInputProps): ReactElement => {
  const id = useId();
  const [text, setText] = useState(value);
  const [isOpen, setOpen] = useState(false);
  // By what it is, not by its place: what is found a moment later may put another there.
  const [active, setActive] = useState<string>();
  useEffect(() => setText(value), [value]);
  const typed = useDebounced(text.trim(), settleMs);
  const { key, read } = suggest?.(typed) ?? nothing;
  const found = useQuery({
    queryKey: key,
    queryFn: async ({ signal }) => await read(signal),
    enabled: isOpen,
    staleTime: 10_000,
    placeholderData: keepPreviousData,
  });
  // What was found for a text before stays until the next answer, as far as it fits: what does not would be chosen by mistake.
  const isStale = found.isPlaceholderData || typed !== text.trim();
  const choices = (isOpen ? (found.data ?? []) : []).filter((choice) => !isStale || hasText(choice, text));
  const isShown = choices.length > 0;
  const at = choices.findIndex(({ value: choice }) => choice === active);
  const close = (): void => {
    setOpen(false);
    setActive(undefined);
  };
  const take = (next: string): void => {
    close();
    setText(next);
    if (next !== value) onChange(next);
  };
  const onKey = (event: KeyboardEvent): void => {
    switch (event.key) {
      case "ArrowDown":
      case "ArrowUp": {
        event.preventDefault();
        setOpen(true);
        const step = event.key === "ArrowDown" ? 1 : -1;
        setActive(choices[(at + step + choices.length + (at === -1 && step === -1 ? 1 : 0)) % choices.length]?.value);
        return;
      }
      case "Enter":
        event.preventDefault();
        take(choices[at]?.value ?? text.trim());
        return;
      case "Escape":
        // One layer back: the list first, whatever lies around it afterwards.
        if (!isShown) return;
        event.preventDefault();
        event.stopPropagation();
        close();
        return;
      default:
    }
  };
  return (
    <div className="sp-suggest">
      <TextInput
        {...field}
        data-filter={isFirst ? "" : undefined}
        label={label}
        value={text}
        role="combobox"
        aria-expanded={isShown}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={isShown && at >= 0 ? `${id}-${at}` : undefined}
        autoComplete="off"
        spellCheck={false}
        onFocus={() => setOpen(true)}
        onBlur={() => take(text.trim())}
        onKeyDown={onKey}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setOpen(true);
          setActive(undefined);
        }}
      />
      <ul className="sp-suggestions" role="listbox" id={`${id}-list`} aria-label={words.common.suggestionsOf(label)} hidden={!isShown}>
        {choices.map((choice, index) => (
          <li
            key={choice.value}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === at}
            // Not the click: the field would be left first, and take what was typed.
            onMouseDown={(event) => {
              event.preventDefault();
              take(choice.value);
            }}
            onMouseMove={() => setActive(choice.value)}
          >
            {choice.label === undefined || choice.label === choice.value ? null : <span>{visibleText(choice.label)}</span>}
            <span className="sp-mono sp-dim">{visibleText(choice.value)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
};

import type { WidgetProps } from "@rjsf/utils";
import type { Suggestions } from "../ui/suggest-input.tsx";
import type { Hints } from "./form-data.ts";

/** Values for a field that begin with, or hold, what is typed. */
export type SuggestFor = (path: string, typed: string, limit: number) => Suggestions;

/** What the parts of a form share. Its functions are the same for as long as the form stands. */
export interface FormContext {
  readonly hints: Hints;
  /** A field was left: its text is put in order and checked. */
  readonly leave: (path: string) => void;
  /** Text of a field is no JSON, or is it again. */
  readonly setBroken: (path: string, isBroken: boolean) => void;
  readonly suggest: SuggestFor | undefined;
}

export const contextOf = (props: { readonly registry: { readonly formContext: unknown } }): FormContext =>
  props.registry.formContext as FormContext;

/** JSON Pointer of a field: what the form generates as its name. */
export const pathOf = (props: Pick<WidgetProps, "htmlName">): string => props.htmlName ?? "";

/** Id of the element of a place, to which the list of issues leads. */
export const elementId = (prefix: string, path: string): string => `${prefix}${path}`;

/** The name of a field; of an item of a list with its number. */
export const numbered = (label: string, path: string): string => {
  const [, at] = /\/(\d+)$/.exec(path) ?? [];
  return at === undefined ? label : `${label} ${Number(at) + 1}`;
};

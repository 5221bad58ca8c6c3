import type { Allowed } from "#contract/page-search.ts";
import { createListeners } from "../model/listeners.ts";

/** The part of the address after `?`: plain text values, each checked; what is not understood is dropped and told. */

export type SearchText = Readonly<Record<string, string>>;

export const parseSearch = (search: string): SearchText => Object.fromEntries(new URLSearchParams(search));

export const stringifySearch = (search: Readonly<Record<string, unknown>>): string => {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    if (typeof value === "string" && value !== "") query.set(name, value);
  }
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
};

const createDropped = () => {
  let names: ReadonlySet<string> = new Set();
  let joined = "";
  const { tell, subscribe } = createListeners();
  const become = (next: ReadonlySet<string>): void => {
    names = next;
    joined = [...next].join(", ");
    queueMicrotask(tell);
  };
  return {
    names: () => joined,
    add: (more: readonly string[]) => {
      if (more.some((name) => !names.has(name))) become(new Set([...names, ...more]));
    },
    clear: () => become(new Set()),
    subscribe,
  };
};

/** Names of parameters that were left out of an address. */
export const droppedParameters = createDropped();

/** Splits what came into what is allowed and the names of what is not. */
export const sortSearch = <Name extends string>(
  allowed: Readonly<Record<Name, Allowed>>,
  given: Readonly<Record<string, unknown>>,
): { readonly kept: Partial<Record<Name, string>>; readonly dropped: readonly string[] } => {
  const kept: Partial<Record<Name, string>> = {};
  const dropped: string[] = [];
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === "") continue;
    const rule = Object.hasOwn(allowed, name) ? allowed[name as Name] : undefined;
    const fits = typeof value === "string" && rule !== undefined && (rule instanceof RegExp ? rule.test(value) : rule.includes(value));
    if (fits) kept[name as Name] = value;
    else dropped.push(name);
  }
  return { kept, dropped };
};

/** Reads the address of one screen. What is dropped is said to be absent: the router would put it back as it came otherwise. */
export const searchReader =
  <Name extends string>(allowed: Readonly<Record<Name, Allowed>>) =>
  (given: Readonly<Record<string, unknown>>): Partial<Record<Name, string>> => {
    const { kept, dropped } = sortSearch(allowed, given);
    if (dropped.length > 0) droppedParameters.add(dropped);
    return { ...(Object.fromEntries(dropped.map((name) => [name, undefined])) as Partial<Record<Name, string>>), ...kept };
  };

/** Whether anything is asked of a screen beyond its plain address. */
export const isFilteredBy = (search: Readonly<Record<string, unknown>>): boolean =>
  Object.values(search).some((value) => value !== undefined && value !== "");

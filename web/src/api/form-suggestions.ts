import { useCallback, useRef } from "react";
import { formSuggestions } from "#contract/forms.ts";
import { useClient } from "./client-context.ts";

/** What is filled in: a tool's arguments, the input of a workflow, the data of a task, or a stored form. */
export type FormTarget = { readonly tool: string } | { readonly workflow: string } | { readonly task: string } | { readonly form: string };

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** Values that the fields of a form may have, asked of the server as the person, with the data so far. */
export const useSuggestFor = (target: FormTarget, read: () => { readonly data: object } | object) => {
  const client = useClient();
  const latest = useRef(read);
  latest.current = read;
  const of = JSON.stringify(target);
  return useCallback(
    (field: string, typed: string, limit: number) => ({
      key: ["suggestions", of, field, typed],
      read: async (signal: AbortSignal) => {
        const now = latest.current();
        const query = {
          ...(JSON.parse(of) as FormTarget),
          field,
          q: typed,
          limit,
          ...("data" in now ? { with: JSON.stringify(now.data) } : {}),
        };
        const { items } = await client.ask(formSuggestions, { query, signal });
        return items.map(({ label, value }) => ({ label, value: textOf(value) }));
      },
    }),
    [client, of],
  );
};

/** A form as it serves: validated, with the hints of its properties still in `schema`. */
export interface FormDocument {
  readonly id: string;
  readonly title: string;
  readonly description?: string;
  /** Null: all. */
  readonly tenants: readonly string[] | null;
  /** Undefined: a task's. */
  readonly target: { readonly tool: string } | { readonly workflow: string } | undefined;
  /** JSON Schema 2020-12, root object. */
  readonly schema: Readonly<Record<string, unknown>>;
  readonly ui: Readonly<Record<string, unknown>>;
  readonly tests: readonly { readonly data: Readonly<Record<string, unknown>>; readonly valid: boolean }[];
}

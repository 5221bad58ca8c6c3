/** A question to the decision point about the signed-in person; the subject is the server's to say. */
export interface Ask {
  readonly type: string;
  readonly id?: string;
  readonly action: string;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly ui?: Readonly<Record<string, string>>;
  readonly resourceAttributes?: Readonly<Record<string, string>>;
  /** Correlation key in the batch; made from the question unless given. */
  readonly key?: string;
}

export const keyOf = (ask: Ask): string => (ask.key ?? [ask.type, ask.action, ask.id ?? ""].join("|")).slice(0, 256);

/** The item of a batch. */
export const itemOf = (ask: Ask): Readonly<Record<string, unknown>> => ({
  key: keyOf(ask),
  resource: {
    type: ask.type,
    id: ask.id,
    properties: ask.properties,
  },
  action: { name: ask.action },
  context: {
    ui: ask.ui,
    resourceAttributes: ask.resourceAttributes,
  },
});

/** Different questions with equal keys may not share a batch: as many groups as are needed, order kept inside each. */
export const groupByKey = (asks: readonly Ask[]): readonly (readonly { readonly ask: Ask; readonly index: number }[])[] => {
  const groups: { readonly keys: Set<string>; readonly items: { ask: Ask; index: number }[] }[] = [];
  asks.forEach((ask, index) => {
    const key = keyOf(ask);
    let group = groups.find((candidate) => !candidate.keys.has(key));
    if (group === undefined) {
      group = { keys: new Set(), items: [] };
      groups.push(group);
    }
    group.keys.add(key);
    group.items.push({ ask, index });
  });
  return groups.map((group) => group.items);
};

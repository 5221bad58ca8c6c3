const range = <T>(count: number, make: (at: number) => T): readonly T[] => Array.from({ length: count }, (_none, at) => make(at));
const tool = (name: string, properties: object, more: object = {}) => ({ name, inputSchema: { type: "object", properties }, ...more });
const nested = (depth: number): object => range(depth, () => 0).reduce<object>((inner) => ({ items: inner }), { type: "string" });

/** Patterns that cost much, no two alike, and others in the next list. */
const costly = (at: number) => ({ pattern: `@${at}${"(a*|b)".repeat(650)}` });

/** JSON of a list of 500 tools that costs as much as a list may, and would cost more. Few of them are calm. */
export const hostileTools = (): string =>
  JSON.stringify([
    ...["large", "deep", "wide", "many"].map((name) => tool(name, {})),
    tool("digits", { id: { type: "integer", maximum: 123_456, minimum: 123_457 } }),
    // The first has another name in each list: what is refused is reported again.
    ...range(10, (at) => tool(`described${at === 0 ? "@" : at}`, {}, { description: "d".repeat(9_000) })),
    ...range(10, (at) => tool(`nested${at}`, { value: nested(40) })),
    ...range(5, (at) => tool(`folded${at}`, { value: { pattern: `(?i)${at}${String.raw`[\x{100}-\x{1e000}]`.repeat(200)}` } })),
    ...range(120, (at) => tool(`costly${at}`, { one: costly(2 * at), two: costly(2 * at + 1) })),
    ...range(350, (at) => tool(`calm${at}`, { text: { type: "string", pattern: `^[a-z]{1,${at + 1}}$` } })),
  ])
    // More than a double holds.
    .replace("123456", "9223372036854775807")
    .replace("123457", "-9223372036854775808");

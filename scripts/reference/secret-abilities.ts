import { secretOperations, type SecretOperation } from "#contract/secret-operations.ts";
import { secretSchemes, secretStores } from "#contract/secret-schemes.ts";

const row = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;

/** Which operation each kind of store is able to do: the table of `docs/explanation/secrets.md`. */
const abilityTable = (): string => {
  const stores = [...new Map(secretSchemes.map((scheme) => [secretStores[scheme].label, secretStores[scheme]])).values()];
  const rows = Map.groupBy(
    Object.values<SecretOperation>(secretOperations).map((one) => ({
      ...one,
      cells: stores.map(({ can }) => (can.includes(one.ability) ? "yes" : "501")),
    })),
    ({ cells }) => cells.join(),
  );
  return [
    row(["operations", ...stores.map(({ label }) => label)]),
    row(["---", ...stores.map(() => "---")]),
    ...[...rows.values()].map((group) => row([group.map(({ op }) => `\`${op}\``).join(", "), ...(group[0]?.cells ?? [])])),
  ].join("\n");
};

/** The page of secrets, by its name below `docs/reference/`, with the table as the code has it. */
export const secretAbilityFiles = (page: string): ReadonlyMap<string, string> =>
  new Map([["../explanation/secrets.md", page.replace(/(?<=<!-- abilities -->\n\n).*?(?=\n\n<!-- end -->)/s, () => abilityTable())]]);

import type { Setting } from "#contract/setting.ts";
import { settingTables } from "#app/model/settings.ts";
import { jsonSchemaOf } from "./json-schema.ts";
import { table, wrap } from "./markdown.ts";

interface Row {
  readonly module: string;
  readonly setting: Setting<unknown>;
  readonly schema: { enum?: readonly string[]; pattern?: string; format?: string };
}

const rows: readonly Row[] = Object.entries(settingTables).flatMap(([module, table]) =>
  Object.values(table as Readonly<Record<string, Setting<unknown>>>).map((setting) => ({
    module,
    setting,
    schema: jsonSchemaOf(setting.schema, "input"),
  })),
);

const valuesOf = ({ setting, schema }: Row): string => {
  if (schema.enum !== undefined) return schema.enum.map((one) => `\`${one}\``).join(", ");
  if (setting.unit !== undefined) return setting.unit;
  if (schema.format !== undefined) return schema.format;
  return "text";
};

const cellsOf = (row: Row): readonly string[] => {
  const { setting } = row;
  const own = setting.default === undefined || setting.default === "" ? "" : `\`${setting.default}\``;
  const fallback = setting.npmStart === undefined ? own : `${own}; of \`npm start\` \`${setting.npmStart}\``;
  return [`\`${setting.env}\``, fallback, valuesOf(row), `${setting.description}${setting.secret === true ? " Never printed." : ""}`];
};

const manual = (): string =>
  [
    "# Settings",
    "",
    wrap(
      "`npm run docs` makes this page from the tables that the program itself reads. `npm run doctor` checks the settings of a deployment. " +
        "Settings come from the environment. An empty variable counts as unset. A start with wrong settings is refused (exit code 78) and names every issue with its variable.",
    ),
    ...Object.keys(settingTables).flatMap((module) => [
      "",
      `## ${module}`,
      "",
      ...table(["variable", "default", "values", "meaning"], rows.filter((row) => row.module === module).map(cellsOf)),
    ]),
    "",
  ].join("\n");

const schema = (): string =>
  `${JSON.stringify(
    {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      title: "Settings of Sallyport, by environment variable",
      type: "object",
      properties: Object.fromEntries(
        rows.map(({ setting, schema: values }) => [
          setting.env,
          {
            ...values,
            description: setting.description,
            ...(setting.default === undefined ? {} : { default: setting.default }),
            ...(setting.unit === undefined ? {} : { "x-unit": setting.unit }),
            ...(setting.secret === true ? { writeOnly: true } : {}),
          },
        ]),
      ),
    },
    undefined,
    2,
  )}\n`;

/** The manual of settings and its JSON Schema. File name to text. */
export const configurationFiles = (): ReadonlyMap<string, string> =>
  new Map([
    ["configuration.md", manual()],
    ["configuration.schema.json", schema()],
  ]);

// `npm run bench -- [subject ..] [--keep] [options of the subject]`: figures of this machine, each beside a reference of the
// same run. Prints Markdown; with --keep docs/reference/benchmarks.md gets it too.
import type { ParseArgsOptionsConfig } from "node:util";
import { benchGateway, gatewayOptions } from "./bench/gateway.ts";
import { benchInstance } from "./bench/instance.ts";
import { benchPdp, pdpOptions } from "./bench/pdp.ts";
import { benchMembership, membershipOptions } from "./bench/membership.ts";
import { installPrograms, type Program } from "#testing/programs.ts";
import { pinSelf } from "./bench/kit/programs.ts";
import { benchRelay, relayOptions } from "./bench/relay.ts";
import { benchSecrets, secretsOptions } from "./bench/secrets.ts";
import { report, type Section } from "./bench/kit/report.ts";
import { benchTools, toolsOptions } from "./bench/tools.ts";
import { requireOptions } from "./options.ts";

interface Subject {
  readonly measure: (argv: readonly string[]) => Promise<Section>;
  readonly options: ParseArgsOptionsConfig;
  /** Installed where they lack. */
  readonly programs?: readonly Program[];
}

/** Adding a subject: one file that answers a section, one row here. */
const subjects: Readonly<Record<string, Subject>> = {
  instance: { measure: benchInstance, options: {} },
  gateway: { measure: benchGateway, options: gatewayOptions, programs: ["nginx", "wrk"] },
  pdp: { measure: benchPdp, options: pdpOptions, programs: ["wrk"] },
  membership: { measure: benchMembership, options: membershipOptions, programs: ["wrk"] },
  secrets: { measure: benchSecrets, options: secretsOptions, programs: ["bao"] },
  tools: { measure: benchTools, options: toolsOptions },
  relay: { measure: benchRelay, options: relayOptions, programs: ["confluent-kafka"] },
};

const optionsText = Object.entries(subjects)
  .map(([name, { options }]) => {
    const shown = Object.entries(options).map(([option, row]) =>
      row.type === "boolean" ? `--${option}` : `--${option} ${String(row.default ?? "NAME,..")}`,
    );
    return `  ${name.padEnd(10)} ${shown.length === 0 ? "no options" : shown.join(" ")}`;
  })
  .join("\n");
const help = `npm run bench -- [SUBJECT ..] [--keep] [options of the subjects]

Figures of this machine, each beside a reference of the same run, as Markdown. Without a subject: all of them.

${optionsText}
  --keep    writes them to docs/reference/benchmarks.md too

docs/reference/benchmarks.md says what the options mean.
`;
const refuse = (message: string): never => {
  process.stderr.write(`${message}\n\n${help}`);
  process.exit(64);
};

const { values, positionals } = requireOptions(
  help,
  Object.assign({ keep: { type: "boolean" } }, ...Object.values(subjects).map(({ options }) => withoutDefaults(options))),
  true,
);
const chosen = positionals.length === 0 ? Object.keys(subjects) : positionals;
for (const name of chosen) if (subjects[name] === undefined) refuse(`Unknown subject ${name}. Known: ${Object.keys(subjects).join(", ")}.`);
for (const option of Object.keys(values))
  if (option !== "keep" && !chosen.some((name) => option in (subjects[name]?.options ?? {})))
    refuse(`--${option} is no option of ${chosen.join(", ")}.`);

await installPrograms(
  chosen.flatMap((name) => subjects[name]?.programs ?? []),
  (line) => process.stderr.write(`${line}\n`),
);
pinSelf();
for (const name of chosen) {
  const subject = subjects[name];
  if (subject === undefined) continue;
  const own = Object.keys(subject.options).flatMap((option) =>
    values[option] === undefined ? [] : values[option] === true ? [`--${option}`] : [`--${option}`, String(values[option])],
  );
  await report(name, await subject.measure(own), values["keep"] === true);
}
process.exit(0);

/** So that only what was given is seen; each subject knows its own. */
function withoutDefaults(options: ParseArgsOptionsConfig): ParseArgsOptionsConfig {
  return Object.fromEntries(Object.entries(options).map(([name, { type }]) => [name, { type }]));
}

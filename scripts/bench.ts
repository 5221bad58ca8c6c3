// `npm run bench -- [subject ..] [--keep] [options of the subject]`: figures of this machine, each beside a reference of the
// same run. Prints Markdown; with --keep docs/bench.md gets it too.
import { benchGateway } from "./bench/gateway.ts";
import { benchHouse } from "./bench/house.ts";
import { benchPdp } from "./bench/pdp.ts";
import { pinSelf } from "./bench/kit/programs.ts";
import { say } from "./bench/kit/progress.ts";
import { report, type Section } from "./bench/kit/report.ts";

/** Adding a subject: one file that answers a section, one row here. */
const subjects: Readonly<Record<string, (argv: readonly string[]) => Promise<Section>>> = {
  house: benchHouse,
  gateway: benchGateway,
  pdp: benchPdp,
};

const argv = process.argv.slice(2);
const named = argv.filter((argument, index) => argument in subjects && argv.slice(0, index).every((one) => one in subjects));
const rest = argv.slice(named.length);
const unknown = rest[0];
if (unknown !== undefined && !unknown.startsWith("--")) {
  say(`Unknown subject ${unknown}. Known: ${Object.keys(subjects).join(", ")}.`);
  process.exit(64);
}

pinSelf();
for (const name of named.length === 0 ? Object.keys(subjects) : named) {
  const bench = subjects[name];
  if (bench === undefined) continue;
  const section = await bench(rest.filter((argument) => argument !== "--keep"));
  await report(name, section, rest.includes("--keep"));
}
process.exit(0);

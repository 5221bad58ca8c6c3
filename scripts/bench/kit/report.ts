import { readFile, writeFile } from "node:fs/promises";
import { arch, cpus, totalmem, type } from "node:os";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { list, table } from "../../reference/markdown.ts";

/** One line of a report: what was measured, beside its reference of the same run, against its target. */
export interface Figure {
  readonly what: string;
  readonly own: string;
  readonly reference: string;
  readonly ratio: string;
  readonly target: string;
  /** undefined: there is no target to meet. */
  readonly isMet?: boolean;
  /** Of a target that names a goal beyond it. */
  readonly isGoalMet?: boolean;
}

/** What one subject found. */
export interface Section {
  readonly title: string;
  /** Sentences: what was on, whose CPU counts. */
  readonly conditions: readonly string[];
  readonly figures: readonly Figure[];
  /** Further findings, one sentence each. */
  readonly notes?: readonly string[];
}

const FILE = join(import.meta.dirname, "../../../docs/reference/benchmarks.md");

const machine = (): string => {
  const [cpu] = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  return `${cpus().length} x ${cpu?.model.trim() ?? "?"}, ${memory} GiB, ${type()} ${arch()}, Node ${process.versions.node}`;
};

const metOf = ({ isMet, isGoalMet }: Figure): string => {
  if (isMet === undefined) return "";
  return `${isMet ? "yes" : "no"}${isGoalMet === undefined ? "" : `; goal ${isGoalMet ? "yes" : "no"}`}`;
};

const textOf = (section: Section): string => {
  const commit = spawnSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).stdout.trim();
  return [
    `## ${section.title}`,
    "",
    `Measured ${new Date().toISOString().slice(0, 10)}${commit === "" ? "" : ` after ${commit}`} on ${machine()}.`,
    "",
    ...list(section.conditions),
    "",
    ...table(
      ["what", "Sallyport", "reference", "ratio", "target", "met"],
      section.figures.map((one) => [one.what, one.own, one.reference, one.ratio, one.target, metOf(one)]),
    ),
    ...(section.notes === undefined || section.notes.length === 0 ? [] : ["", ...list(section.notes)]),
  ].join("\n");
};

const marks = (subject: string) => ({ begin: `<!-- bench ${subject} -->`, end: `<!-- /bench ${subject} -->` });

/** Prints a section and, with `keep`, puts it in place of the same subject's in docs/reference/benchmarks.md. */
export const report = async (subject: string, section: Section, keep: boolean): Promise<void> => {
  const text = textOf(section);
  process.stdout.write(`${text}\n\n`);
  if (!keep) return;
  const { begin, end } = marks(subject);
  const current = await readFile(FILE, "utf8");
  const from = current.indexOf(begin);
  const to = current.indexOf(end);
  const block = `${begin}\n\n${text}\n\n${end}`;
  const next =
    from === -1 || to === -1 ? `${current.trimEnd()}\n\n${block}\n` : current.slice(0, from) + block + current.slice(to + end.length);
  await writeFile(FILE, next);
};

import { configKinds, MAX_CONFIG_BYTES } from "#contract/configs.ts";
import { MAX_ISSUES, Problem, type Issue } from "#contract/problem.ts";
import { atOnce, yielding, type Yield } from "#http/yielding.ts";
import { plainText } from "#crud/documents/plain-text.ts";

/** A file of an archive of configuration, as it lies in a configuration folder: a document, or below a folder of documents what they refer to. */
export interface ArchivedFile {
  readonly path: string;
  readonly text: string;
}

/** https://pubs.opengroup.org/onlinepubs/9799919799/utilities/pax.html, ustar interchange format: a head of 512 bytes, then the bytes, filled up to 512. */
const BLOCK = 512;
const NAME = { at: 0, length: 100 };
const SIZE = { at: 124, length: 12 };
const SUM = { at: 148, length: 8 };
const TYPE = 156;
const MAGIC = { at: 257, length: 5 };
const PREFIX = { at: 345, length: 155 };
/** Heads, whatever they are of: directories too are looked at. */
const MAX_MEMBERS = 2_000;
const END = Buffer.alloc(BLOCK);

const blocksOf = (bytes: number): number => Math.ceil(bytes / BLOCK) * BLOCK;

/** Sum of a head's bytes, its own field read as blanks. */
const sumOf = (head: Uint8Array): number => {
  let sum = SUM.length * 0x20;
  for (let at = 0; at < BLOCK; at++) if (at < SUM.at || at >= SUM.at + SUM.length) sum += head[at] ?? 0;
  return sum;
};

const headOf = (path: string, size: number): Buffer => {
  const head = Buffer.alloc(BLOCK);
  // A long path is parted at a slash; what cannot be parted so is no path of a configuration folder.
  const slash = Buffer.byteLength(path) <= NAME.length ? -1 : path.indexOf("/", path.length - NAME.length - 1);
  if (Buffer.byteLength(path) > NAME.length && (slash === -1 || slash > PREFIX.length))
    throw new Problem("unprocessable", { errors: [{ path: "", file: path, message: "is a path too long for an archive" }] });
  head.write(path.slice(slash + 1), NAME.at);
  if (slash !== -1) head.write(path.slice(0, slash), PREFIX.at);
  head.write("0000644\0" + "0000000\0".repeat(2), 100);
  head.write(`${size.toString(8).padStart(11, "0")}\0`, SIZE.at);
  head.write(`${"0".repeat(11)}\0`, 136);
  head.write("0", TYPE);
  head.write("ustar\0" + "00", MAGIC.at);
  head.write(`${sumOf(head).toString(8).padStart(6, "0")}\0 `, SUM.at);
  return head;
};

/**
 * The files as one archive, piece by piece: by path, of no time and nobody's, so that the same configuration is the same bytes. Throws
 * `unprocessable` for a path that is too long, before the first piece.
 */
export const archivePieces = (files: readonly ArchivedFile[]): Generator<Buffer> => {
  const sorted = files.toSorted((one, other) => (one.path < other.path ? -1 : 1));
  const sized = sorted.map(({ path, text }) => ({ text, head: headOf(path, Buffer.byteLength(text)) }));
  return (function* pieces() {
    for (const { text, head } of sized) {
      const bytes = Buffer.from(text);
      yield head;
      yield bytes;
      yield Buffer.alloc(blocksOf(bytes.length) - bytes.length);
    }
    yield Buffer.alloc(2 * BLOCK);
  })();
};

/** As `archivePieces`, whole. */
export const packArchive = (files: readonly ArchivedFile[]): Buffer => Buffer.concat([...archivePieces(files)]);

const broken = (message: string): Problem => new Problem("unprocessable", { errors: [{ path: "", message, code: "archive" }] });
const textAt = (head: Buffer, { at, length }: { readonly at: number; readonly length: number }): string => {
  const end = head.indexOf(0, at);
  return head.toString("latin1", at, end === -1 || end > at + length ? at + length : end);
};
const numberAt = (head: Buffer, field: { readonly at: number; readonly length: number }): number => {
  const text = textAt(head, field).trim();
  if (!/^[0-7]{1,11}$/.test(text)) throw broken("is no tar archive: a number of a head is not octal");
  return Number.parseInt(text, 8);
};

/** What a pax head may say without changing which file follows. */
const HARMLESS = /^(?:[acm]time|comment|hdrcharset|[A-Z]+\..+)=/;
const isHarmless = (records: string): boolean =>
  records.split("\n").every((line) => line === "" || HARMLESS.test(line.replace(/^\d+ /, "")));

const rows = Object.entries(configKinds);
const documents = rows.map(([kind, row]) => ("plural" in row ? `${row.plural}/${row.form}.yaml` : `${kind}.yaml`));
const folders = rows.flatMap(([, row]) => ("plural" in row ? [row.plural] : []));
const BELOW = /^(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)+$/;
/** The kind whose folder holds a path, and what of the path is below it. */
const kindOf = (path: string) => {
  const [folder] = path.split("/", 1);
  return Object.entries(configKinds).flatMap(([kind, row]) =>
    "plural" in row && row.plural === folder ? [{ kind, row, below: path.slice(folder.length) }] : [],
  )[0];
};
const nameFault = (path: string): string | undefined => {
  const of = kindOf(path);
  if (of === undefined ? !documents.includes(path) : !BELOW.test(of.below))
    return `is no file of a configuration folder: ${documents.join(", ")}, and below ${folders.join("/, ")}/ what they refer to`;
  const [, file] = /^\/([^/]+)\.yaml$/.exec(of?.below ?? "") ?? [];
  return of === undefined || file === undefined || of.row.name.safeParse(file).success
    ? undefined
    : `is named as no ${of.kind} can be: ${of.row.form}.yaml`;
};

/** As of one document: JSON may be larger, as an import of a large API writes it. */
const maxOf = (path: string, bytes: Uint8Array): number => {
  const max = bytes[0] === 0x7b ? kindOf(path)?.row.maxJsonBytes : undefined;
  return max ?? MAX_CONFIG_BYTES;
};

/** Reads member by member: between two of them it yields. */
function* readMembers(archive: Buffer): Generator<void, readonly ArchivedFile[]> {
  const files = new Map<string, ArchivedFile>();
  const issues: Issue[] = [];
  for (let at = 0, members = 1; ; members++) {
    yield;
    const head = archive.subarray(at, at + BLOCK);
    if (head.length < BLOCK) throw broken(at === 0 ? "is no tar archive" : "is a tar archive that was cut off");
    if (head.equals(END)) break;
    if (members > MAX_MEMBERS) throw broken(`has more than ${MAX_MEMBERS} files and directories`);
    if (textAt(head, MAGIC) !== "ustar" || numberAt(head, SUM) !== sumOf(head))
      throw broken("is no tar archive: a head is not what its sum says");
    const size = numberAt(head, SIZE);
    const bytes = archive.subarray(at + BLOCK, at + BLOCK + size);
    if (bytes.length < size) throw broken("is a tar archive that was cut off");
    at += BLOCK + blocksOf(size);
    const prefix = textAt(head, PREFIX);
    const path = `${prefix === "" ? "" : `${prefix}/`}${textAt(head, NAME)}`.replace(/^\.\//, "");
    const type = String.fromCharCode(head[TYPE] ?? 0);
    const tell = (message: string): void => void issues.push({ path: "", file: path.slice(0, 200), message, code: "archive" });
    if (type === "5") continue;
    if (type === "x" || type === "g") {
      if (!isHarmless(bytes.toString())) tell("has a name or size of its own form: write the archive with tar --format=ustar");
      continue;
    }
    const text = plainText(bytes);
    const name = nameFault(path);
    if (type !== "0" && type !== "\0") tell("is no plain file");
    else if (name !== undefined) tell(name);
    else if (files.has(path)) tell("is there twice");
    else if (size > maxOf(path, bytes)) tell(`has more than ${maxOf(path, bytes)} bytes`);
    else if (text === undefined) tell("is no UTF-8 text");
    else files.set(path, { path, text });
    if (issues.length >= MAX_ISSUES) break;
  }
  if (issues.length > 0) throw new Problem("unprocessable", { errors: issues });
  return [...files.values()];
}

/**
 * The files of an archive, in its order. Directories are passed over. Throws `unprocessable` for what is no archive, and with an issue for
 * each member that is no file of a configuration folder, a link, there twice, too large or no UTF-8 text. Nothing is written anywhere.
 */
export const unpackArchive = (archive: Buffer): readonly ArchivedFile[] => atOnce(readMembers(archive));

/** As `unpackArchive`; others have their turn between two files. */
export const unpackYielding = (archive: Buffer, pause: Yield): Promise<readonly ArchivedFile[]> => yielding(readMembers(archive), pause);

import type { Fault } from "./problem.ts";

/** A service cannot start with what it was given. Holds every fault at once; the program says them all and exits 78. */
export class StartFaults extends Error {
  override readonly name = "StartFaults";
  /** sysexits.h: configuration. */
  readonly exitCode = 78;
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    super(faults.map(faultLine).join("\n"));
    this.faults = faults;
  }
}

/** `file:line:column path: message (hint)`, as editors and people find it. */
export const faultLine = (fault: Omit<Fault, "file"> & { readonly file?: string | undefined }): string => {
  const place = fault.file === undefined ? "" : `${fault.file}:${fault.line ?? 1}:${fault.column ?? 1} `;
  const hint = fault.hint === undefined ? "" : ` (${fault.hint})`;
  return `${place}${fault.path === "" ? "" : `${fault.path}: `}${fault.message}${hint}`;
};

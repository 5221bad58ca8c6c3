import { faultLine } from "#contract/start-faults.ts";
import type { Fault } from "#contract/problem.ts";

/** Policies that may not decide. Carries every fault with its file, line, column and hint; as a start-up fault it exits 78. */
export class BundleRefused extends Error {
  override readonly name = "BundleRefused";
  readonly exitCode = 78;
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    super(
      faults
        .map((fault) =>
          faultLine(fault.line === undefined ? { ...fault, path: fault.file ?? fault.path, file: undefined } : { ...fault, path: "" }),
        )
        .join("\n"),
    );
    this.faults = faults;
  }
}

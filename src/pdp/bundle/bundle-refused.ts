import type { Fault } from "#contract/problem.ts";

/** Policies that may not decide. Carries every fault with its file and line; as a start-up fault it exits 78. */
export class BundleRefused extends Error {
  override readonly name = "BundleRefused";
  readonly exitCode = 78;
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    super(
      faults.map((fault) => `${fault.file ?? fault.path}${fault.line === undefined ? "" : `:${fault.line}`}: ${fault.message}`).join("\n"),
    );
    this.faults = faults;
  }
}

import type { Fault } from "#contract/problem.ts";

/** The secrets service cannot start with what it found. Holds every fault; the program says them all and exits 78. */
export class SecretsStartFaults extends Error {
  override readonly name = "SecretsStartFaults";
  readonly exitCode = 78;
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    super(faults.map((fault) => `${fault.path}: ${fault.message}`).join("\n"));
    this.faults = faults;
  }
}

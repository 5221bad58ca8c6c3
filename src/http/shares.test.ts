import assert from "node:assert/strict";
import { test } from "node:test";
import { createShares } from "./shares.ts";

type Step = readonly [what: "take" | "shrinkTo" | "end", claim: string, amount: number, result?: boolean];

const rows: readonly (readonly [name: string, steps: readonly Step[]])[] = [
  [
    "as much as the share, and no more",
    [
      ["take", "a1", 40, true],
      ["take", "a1", 1, false],
      ["take", "a1", 0, true],
    ],
  ],
  [
    "claims of one key share it",
    [
      ["take", "a1", 30, true],
      ["take", "a2", 11, false],
      ["take", "a2", 10, true],
    ],
  ],
  [
    "another key has its own",
    [
      ["take", "a1", 40, true],
      ["take", "b1", 40, true],
    ],
  ],
  [
    "all together take no more than there is",
    [
      ["take", "a1", 40, true],
      ["take", "b1", 40, true],
      ["take", "c1", 21, false],
      ["take", "c1", 20, true],
    ],
  ],
  [
    "what is refused takes nothing",
    [
      ["take", "a1", 41, false],
      ["take", "a1", 40, true],
    ],
  ],
  [
    "what is given back is there again",
    [
      ["take", "a1", 40, true],
      ["shrinkTo", "a1", 15],
      ["take", "a2", 26, false],
      ["take", "a2", 25, true],
    ],
  ],
  [
    "to give back more than was taken changes nothing",
    [
      ["take", "a1", 10, true],
      ["shrinkTo", "a1", 30],
      ["take", "a2", 31, false],
    ],
  ],
  [
    "the end gives all back",
    [
      ["take", "a1", 40, true],
      ["end", "a1", 0],
      ["take", "a2", 40, true],
    ],
  ],
  [
    "what has ended takes nothing more",
    [
      ["end", "a1", 0],
      ["take", "a1", 1, false],
      ["take", "a2", 40, true],
    ],
  ],
  [
    "a second end changes nothing",
    [
      ["take", "a1", 40, true],
      ["end", "a1", 0],
      ["end", "a1", 0],
      ["take", "a2", 41, false],
    ],
  ],
];

for (const [name, steps] of rows)
  test(`shares: ${name}`, () => {
    const shares = createShares({ total: 100, perKey: 40 });
    const claims = new Map(["a1", "a2", "b1", "c1"].map((claim) => [claim, shares(claim.slice(0, 1))]));
    for (const [at, [what, of, amount, result]] of steps.entries()) {
      const claim = claims.get(of);
      assert.ok(claim !== undefined);
      const before = claim.taken;
      if (what === "take") {
        assert.equal(claim.take(amount), result, `step ${at}`);
        assert.equal(claim.taken, before + (result === true ? amount : 0));
      } else if (what === "shrinkTo") claim.shrinkTo(amount);
      else claim[Symbol.dispose]();
    }
  });

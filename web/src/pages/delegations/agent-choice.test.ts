import assert from "node:assert/strict";
import { test } from "node:test";
import type { Can } from "../../decisions/use-can.ts";
import { choiceOf } from "./agent-choice.ts";

const agent = (id: string, state: "active" | "suspended" = "active") => ({ id, state });
const [mine, other] = [agent("agent:mine"), agent("agent:other")];

const rows: readonly (readonly [string, Parameters<typeof choiceOf>[0], readonly Can[], string, ReturnType<typeof choiceOf>])[] = [
  ["none there are", [], [], "", "none"],
  ["none of them is mine", [mine, other], ["denied", "denied"], "", "none"],
  ["none of them is mine, and the address names one", [mine, other], ["denied", "denied"], other.id, "none"],
  ["the only one of mine is suspended", [agent("agent:mine", "suspended"), other], ["allowed", "denied"], "", "none"],
  ["one is being checked", [mine, other], ["denied", "pending"], "", "waiting"],
  ["one is mine", [mine, other], ["allowed", "denied"], "", "open"],
  ["mine is chosen", [mine, other], ["allowed", "denied"], mine.id, "chosen"],
  ["mine is chosen, and others are being checked", [mine, other], ["allowed", "pending"], mine.id, "chosen"],
  ["the address chose one that is not mine", [mine, other], ["allowed", "denied"], other.id, "foreign"],
  ["the address chose one that there is not", [mine, other], ["allowed", "denied"], "agent:gone", "foreign"],
  ["nobody can tell", [mine], ["unknown"], "", "open"],
  ["nobody can tell of the one that is chosen", [mine], ["unknown"], mine.id, "foreign"],
];

for (const [name, agents, cans, chosen, expected] of rows)
  test(`of agents, when ${name}: ${expected}`, () => assert.equal(choiceOf(agents, cans, chosen), expected));

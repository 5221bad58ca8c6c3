import assert from "node:assert/strict";
import { test } from "node:test";
import { probedEndpoints } from "./probes.ts";

for (const { name, topic, endpoint, probe } of probedEndpoints)
  test(`${name} has the probes that its shape asks for, and no others (src/testing/probes/${topic}.ts)`, () => {
    assert.equal(probe.repeat !== undefined, "Idempotency-Key" in (endpoint.headers ?? {}), "repeat");
    // What an agent's token gets more than nothing at is declared twice: none by oversight.
    assert.equal(probe.agent?.gets, endpoint.agents === "never" ? undefined : endpoint.agents, "agent.gets");
    if (endpoint.method !== "GET") assert.deepEqual([probe.read, probe.unread], [undefined, undefined], "it is not read");
  });

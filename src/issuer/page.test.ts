import assert from "node:assert/strict";
import { test } from "node:test";
import { cspSources } from "./page.ts";

test("an origin by IPv6 literal is in no content security policy, which has no words for it", () => {
  assert.deepEqual(cspSources(["http://localhost:8080", "http://127.0.0.1:8080", "http://[::1]:8080", "https://[2001:db8::1]"]), [
    "http://localhost:8080",
    "http://127.0.0.1:8080",
  ]);
  assert.deepEqual(cspSources(["https://a.example"]), ["https://a.example"]);
});

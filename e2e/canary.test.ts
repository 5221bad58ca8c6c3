import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { formsOf } from "#testing/canary.ts";
import { startCollector } from "#testing/otlp/collector.ts";
import { signInPerson } from "./sign-in.ts";
import { liveTheStory } from "./story.ts";
import { startTestInstance } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";

const filesOf = async (folder: string): Promise<readonly string[]> =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

test("the people directory's key is in no log line, event, metric, audit row, file, answer or trace or page of a whole story", async (t) => {
  const collector = await startCollector(t);
  const instance = await startTestInstance({
    environment: { LOG_LEVEL: "trace", TENANT_SALT: "0123456789abcdef0123456789abcdef", OTLP_ENDPOINT: collector.url },
  });
  const received: string[] = [];
  const seen = new AbortController();
  try {
    const secrets = parse(await readFile(join(instance.data, "secrets.yaml"), "utf8")) as { people: { demo: { api_key: string } } };
    const forms = formsOf(secrets.people.demo.api_key);
    const ada = await fetchToken(instance.port, { user: "ada" });
    const streams = ["config", "activity"].map(async (stream) => {
      const response = await fetch(`http://localhost:${instance.port + 3}/events/${stream}`, {
        headers: { authorization: `Bearer ${ada}`, accept: "text/event-stream" },
        signal: seen.signal,
      });
      assert.equal(response.status, 200);
      for await (const chunk of response.body ?? []) received.push(Buffer.from(chunk).toString("utf8"));
    });
    const ended = Promise.allSettled(streams);
    await liveTheStory(instance.port);

    // Faults are where secrets leak: an upstream that refuses, a value that is asked for by who may not.
    const ben = await fetchToken(instance.port, { user: "ben" });
    const agent = await fetchToken(instance.port, { user: "ben", agent: "agent:hr-assistant" });
    const answers: string[] = [];
    for (const token of [ben, agent]) {
      for (const path of ["/api/secrets?uri=", "/api/secrets/value?uri="]) {
        const response = await fetch(
          `http://localhost:${instance.port + 5}${path}${encodeURIComponent("yaml://secret/people/demo#api_key")}`,
          {
            headers: { authorization: `Bearer ${token}`, "x-purpose": "looking for a leak" },
          },
        );
        assert.notEqual(response.status, 200);
        answers.push(await response.text(), JSON.stringify([...response.headers]));
      }
      const failed = await fetch(`${instance.origin}/api/crud/mcp/jsonrpc`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: "1",
          method: "tools/call",
          params: { name: "people.demo.get_employee", arguments: { id: "e999999" } },
        }),
      });
      answers.push(await failed.text());
    }
    for (const path of ["/metrics", "/api/v1/health", "/", "/auth/session", "/nothing"]) {
      const response = await fetch(`${instance.origin}${path}`, { headers: { accept: path === "/" ? "text/html" : "*/*" } });
      answers.push(await response.text(), JSON.stringify([...response.headers]));
    }
    // The credentials themselves, through every refusal: a good one where it may not, and one that nobody knows.
    const person = await signInPerson(instance.origin, "ben");
    const sid = person.cookie.split("=")[1] ?? "";
    const credentials: readonly Readonly<Record<string, string>>[] = [
      { cookie: person.cookie },
      { authorization: `Bearer ${ben}` },
      { authorization: `Bearer ${agent}` },
      { cookie: person.cookie, authorization: `Bearer ${ben}` },
      { cookie: `${person.cookie}x` },
      { authorization: `Bearer ${ben}x` },
    ];
    const statuses = new Set<number>();
    for (const headers of credentials) {
      for (const [method, path] of [
        ["GET", "/access/v1/decisions"],
        ["POST", "/api/v1/sessions"],
        ["DELETE", "/api/v1/sessions/not-one"],
        ["GET", "/api/v1/events/config?nothing=1"],
        ["POST", "/api/crud/mcp/jsonrpc"],
        ["GET", "/auth/verify"],
        ["GET", "/metrics"],
      ] as const) {
        const response = await fetch(`${instance.origin}${path}`, { method, headers: { ...headers, "x-forwarded-for": "192.0.2.1" } });
        statuses.add(response.status);
        answers.push(await response.text(), JSON.stringify([...response.headers]));
      }
    }
    for (const status of [400, 401, 403, 405]) assert.ok(statuses.has(status), `${status} among ${[...statuses].join(", ")}`);
    seen.abort();
    await ended;
    assert.ok(received.join("").includes("tool_call"), "the activity stream showed the calls");
    const stopped = await new Promise<number | null>((resolve) => {
      instance.process.once("exit", (code) => resolve(code));
      instance.process.kill("SIGTERM");
    });
    assert.equal(stopped, 0);
    assert.ok(
      collector.spans.some(({ name }) => name === "secret.value"),
      "traces of secret reads have left",
    );

    const places: (readonly [place: string, text: string])[] = [
      ["output", instance.output()],
      ["streams", received.join("")],
      ["answers", answers.join("\n")],
      ["traces and metrics that left", Buffer.concat(collector.raw).toString("latin1")],
    ];
    for (const file of await filesOf(instance.data)) {
      if (!file.endsWith("secrets.yaml")) places.push([file, await readFile(file, "latin1")]);
    }
    assert.ok(places.length > 100, "the database's files were searched");
    for (const [place, text] of places) {
      for (const credential of [sid, ben, agent, ada]) assert.ok(!text.includes(credential), `a credential in ${place}`);
      for (const [form, needle] of forms) assert.ok(!text.includes(needle), `${form} in ${place}`);
    }
  } finally {
    seen.abort();
    await instance.stop();
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { SessionView } from "#contract/session.ts";
import { createSessionStore } from "./session-store.ts";

const ben: SessionView = { authenticated: true, subject: { id: "person:ben", name: "Ben" }, tenant: "tenant:acme", csrf_token: "c1" };

const setUp = (...views: (SessionView | Error)[]) => {
  let reads = 0;
  let reloads = 0;
  const store = createSessionStore({
    read: async () => {
      const view = views[Math.min(reads, views.length - 1)] ?? new Error("no view");
      reads += 1;
      await Promise.resolve();
      if (view instanceof Error) throw view;
      return view;
    },
    reload: () => void (reloads += 1),
  });
  return { store, reads: () => reads, reloads: () => reloads };
};

test("all who ask at the same time share one read", async () => {
  const { store, reads } = setUp(ben);
  await Promise.all([store.recheck(), store.recheck(), store.recheck()]);
  assert.equal(reads(), 1);
  assert.equal(store.csrfToken(), "c1");
});

test("nobody was signed in: signed out; somebody was and is no more: ended, and the token is forgotten", async () => {
  const fresh = setUp({ authenticated: false });
  await fresh.store.recheck();
  assert.equal(fresh.store.state().phase, "signed-out");
  const { store } = setUp(ben, { authenticated: false });
  await store.recheck();
  await store.recheck();
  assert.equal(store.state().phase, "ended");
  assert.equal(store.csrfToken(), undefined);
});

test("another person or tenant means that nothing on the page may stay", async () => {
  for (const other of [
    { ...ben, subject: { id: "person:ada", name: "Ada" } },
    { ...ben, tenant: "tenant:globex" },
  ]) {
    const { store, reloads } = setUp(ben, other);
    await store.recheck();
    await store.recheck();
    assert.equal(reloads(), 1);
  }
});

test("a new token of the same person is taken over without a reload", async () => {
  const { store, reloads } = setUp(ben, { ...ben, csrf_token: "c2" });
  await store.recheck();
  await store.recheck();
  assert.equal(store.csrfToken(), "c2");
  assert.equal(reloads(), 0);
});

test("a failed read says so at the start and changes nothing later", async () => {
  const first = setUp(new Error("down"));
  await first.store.recheck();
  assert.equal(first.store.state().phase, "failed");
  const { store } = setUp(ben, new Error("down"));
  await store.recheck();
  await store.recheck();
  assert.equal(store.state().phase, "signed-in");
});

test("an answer that lacks who, tenant or token is not a session", async () => {
  for (const missing of ["subject", "tenant", "csrf_token"] as const) {
    const { [missing]: _left, ...view } = ben;
    const { store } = setUp(view);
    await store.recheck();
    assert.equal(store.state().phase, "signed-out", missing);
  }
});

test("listeners hear of every change until they leave", async () => {
  const { store } = setUp(ben);
  let received = 0;
  const leave = store.subscribe(() => void (received += 1));
  await store.recheck();
  store.end();
  leave();
  await store.recheck();
  assert.equal(received, 2);
  assert.equal(store.state().phase, "ended");
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { createChildPlaces, type PlacedChild } from "./child-places.ts";

const placesOf = (max: number) => {
  const places = createChildPlaces(max);
  let clock = 0;
  /** Takes places as children do, until there is none; answers how many. */
  const take = async (tenant: string, wanted: number, busy = 1): Promise<number> => {
    for (let taken = 0; taken < wanted; taken++) {
      await places.evictOldest(tenant);
      if (!places.hasCapacity(tenant)) return taken;
      const child: PlacedChild = { tenant, busy, lastUsed: clock++, retire: async () => places.delete(child) };
      places.add(child);
    }
    return wanted;
  };
  return { places, take };
};

test("a tenant whose children are all at work leaves half of the places to others", async () => {
  const { places, take } = placesOf(64);
  assert.equal(await take("tenant:globex", 70), 32);
  assert.equal(await take("tenant:acme", 70), 16);
  assert.equal(await take("", 70), 16);
  assert.equal(places.taken, 64);
});

test("idle children of who has most make room for a first one of somebody else, and for no more than the share", async () => {
  const { places, take } = placesOf(8);
  assert.equal(await take("tenant:globex", 4, 0), 4);
  for (const tenant of ["tenant:b", "tenant:c"]) assert.equal(await take(tenant, 2), 2);
  assert.equal(await take("tenant:acme", 2), 2);
  assert.equal(places.taken, 8);
  assert.equal(places.hasCapacity("tenant:globex"), false);
});

test("a tenant at its share ends its own idle child for another, and nobody else's", async () => {
  const { places, take } = placesOf(8);
  assert.equal(await take("tenant:acme", 4), 4);
  assert.equal(await take("tenant:globex", 3, 0), 3);
  assert.equal(places.taken, 6);
  assert.equal(await take("tenant:acme", 1), 0);
});

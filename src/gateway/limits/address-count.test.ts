import assert from "node:assert/strict";
import { test } from "node:test";
import { createAddressCount } from "./address-count.ts";

const nobody = (): boolean => false;

test("an address has its share, and what it gives back is free again, once", () => {
  const counted = createAddressCount(2, nobody);
  const leave = [counted.enter("192.0.2.1"), counted.enter("192.0.2.1")];
  assert.equal(counted.isOver("192.0.2.1"), false);
  const third = counted.enter("192.0.2.1");
  assert.equal(counted.isOver("192.0.2.1"), true);
  assert.equal(counted.isOver("192.0.2.2"), false, "a neighbour's is its own");
  third();
  assert.equal(counted.isOver("192.0.2.1"), false);
  third();
  third();
  counted.enter("192.0.2.1");
  assert.equal(counted.isOver("192.0.2.1"), true, "two and this one: nothing was given back twice");
  leave.forEach((one) => one());
  assert.equal(counted.isOver("192.0.2.1"), false);
});

test("an IPv6 site has one share for its whole /64", () => {
  const counted = createAddressCount(1, nobody);
  counted.enter("2001:db8:1:2::1");
  counted.enter("2001:db8:1:2:ffff::9");
  counted.enter("2001:db8:1:3::1");
  assert.deepEqual(
    ["2001:db8:1:2::77", "2001:db8:1:3::77", "2001:db8:1:4::1"].map((address) => counted.isOver(address)),
    [true, false, false],
  );
});

test("0 is no limit, and whoever stands for many has none", () => {
  const off = createAddressCount(0, nobody);
  const counted = createAddressCount(1, (address) => address === "10.0.0.1");
  for (let index = 0; index < 100; index++) {
    off.enter("192.0.2.1");
    counted.enter("10.0.0.1");
  }
  assert.deepEqual([off.isOver("192.0.2.1"), counted.isOver("10.0.0.1")], [false, false]);
});

test("however many addresses come and go, one that stays is still counted", () => {
  const counted = createAddressCount(1, nobody);
  counted.enter("192.0.2.1");
  counted.enter("192.0.2.1");
  for (let index = 0; index < 5000; index++) counted.enter(`10.1.${index >> 8}.${index & 255}`)();
  assert.equal(counted.isOver("192.0.2.1"), true);
});

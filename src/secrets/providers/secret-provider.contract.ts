import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import { Problem } from "#contract/problem.ts";
import { parseLosslessJson } from "#secrets/lossless-json.ts";
import { parseSecretUri } from "#secrets/secret-uri.ts";
import { parseSecretData, SecretValue, wireOf } from "#secrets/secret-value.ts";
import type { SecretRef } from "#secrets/tenant-guard.ts";
import { parseSchemeAliases } from "#secrets/uri-schemes.ts";
import type { SecretProvider } from "./secret-provider.ts";

const { schemes } = parseSchemeAliases([], "SECRETS_SCHEME_ALIASES");

/** A reference as the tenant guard would return it. */
export const refOf = (uri: string): SecretRef => Object.freeze({ ...parseSecretUri(uri, schemes), tenant: "tenant:acme" });

/** The stored value as JSON text, every digit as it is held. */
export const readText = async (provider: SecretProvider, uri: string): Promise<string> =>
  JSON.stringify(wireOf(SecretValue.reveal((await provider.read(refOf(uri))).value)));

export const write = async (provider: SecretProvider, uri: string, json: string, more: { replace?: boolean; cas?: number } = {}) => {
  const change = { value: parseSecretData(parseLosslessJson(json)), replace: more.replace ?? false };
  const decided = new Set((await provider.nodes(refOf(uri), change)).map((node) => node.id));
  return provider.write(refOf(uri), change, { decided, ...(more.cas === undefined ? {} : { cas: more.cas }) });
};

export const refusal = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work;
  } catch (error) {
    assert.ok(error instanceof Problem, String(error));
    return error.code;
  }
  return "done";
};

/** What every provider does alike. `open` gives an empty, writable one; `base` is a place of it, e.g. `yaml://secret`. */
export const testSecretProvider = (name: string, base: string, open: (t: TestContext) => Promise<SecretProvider>): void => {
  suite(`${name} as a secret provider`, () => {
    test("what was written under a key is read there and in the map", async (t) => {
      const provider = await open(t);
      assert.equal((await write(provider, `${base}/team/app#password`, '"correct horse"')).created, true);
      assert.equal(await readText(provider, `${base}/team/app#password`), '"correct horse"');
      assert.equal(await readText(provider, `${base}/team/app`), '{"password":"correct horse"}');
    });

    test("a write under a key keeps its siblings, a repeated one is no creation", async (t) => {
      const provider = await open(t);
      await write(provider, `${base}/a#one`, "1");
      await write(provider, `${base}/a#two`, "2");
      assert.equal((await write(provider, `${base}/a#one`, "11")).created, false);
      assert.equal(await readText(provider, `${base}/a`), '{"one":11,"two":2}');
    });

    test("a map sets the keys it names; with replace it is all there is", async (t) => {
      const provider = await open(t);
      await write(provider, `${base}/a`, '{"one":1,"two":2}');
      await write(provider, `${base}/a`, '{"two":22,"three":3}');
      assert.equal(await readText(provider, `${base}/a`), '{"one":1,"two":22,"three":3}');
      await write(provider, `${base}/a#four`, "4", { replace: true });
      assert.equal(await readText(provider, `${base}/a`), '{"four":4}');
      await write(provider, `${base}/a`, '{"five":5}', { replace: true });
      assert.equal(await readText(provider, `${base}/a`), '{"five":5}');
    });

    test("absent paths and keys are told apart", async (t) => {
      const provider = await open(t);
      await write(provider, `${base}/a#one`, "1");
      assert.equal(await refusal(provider.read(refOf(`${base}/b`))), "secret_not_found");
      assert.equal(await refusal(provider.read(refOf(`${base}/b#one`))), "secret_not_found");
      assert.equal(await refusal(provider.read(refOf(`${base}/a#two`))), "key_not_found");
    });

    test("values keep type, digits, quotes, lines and names that are special elsewhere", async (t) => {
      const provider = await open(t);
      const values = [
        "12345678901234567890",
        "1.10",
        "1e400",
        "-0",
        "true",
        "null",
        '"yes"',
        '"0123"',
        '"line\\nline\\ttab \\" \\\\ # no comment: x"',
        '"\\u2028 caf\\u00e9 \\ud83d\\ude00"',
        `"${"long words ".repeat(400)}"`,
        '"*alias &anchor !tag <<"',
        '""',
        '[1,[2,{"a":null}],"x"]',
        '{"__proto__":{"polluted":true},"constructor":1,"1":2,"null":3,"~":4,"<<":5,"a: b":6,"":7}',
      ];
      for (const [index, value] of values.entries()) {
        await write(provider, `${base}/values#v${index}`, value);
        assert.equal(
          await readText(provider, `${base}/values#v${index}`),
          JSON.stringify(parseLosslessJson(value)).replaceAll("\u2028", "\u2028"),
        );
      }
      for (const [index, value] of values.entries()) {
        assert.equal(await readText(provider, `${base}/values#v${index}`), JSON.stringify(parseLosslessJson(value)));
      }
      assert.equal(({} as { polluted?: boolean }).polluted, undefined);
    });

    test("cas 0 writes only where nothing is", async (t) => {
      const provider = await open(t);
      assert.equal((await write(provider, `${base}/a#one`, "1", { cas: 0 })).created, true);
      assert.equal(await refusal(write(provider, `${base}/a#one`, "2", { cas: 0 })), "cas_mismatch");
      assert.equal(await readText(provider, `${base}/a#one`), "1");
    });

    test("without a key the value is a map", async (t) => {
      const provider = await open(t);
      assert.equal(await refusal(write(provider, `${base}/a`, '"text"')), "value_shape");
      assert.equal(await refusal(provider.read(refOf(`${base}/a`))), "secret_not_found");
    });

    test("a write that would touch more than was decided writes nothing", async (t) => {
      const provider = await open(t);
      const change = { value: "x", replace: false };
      assert.equal(await refusal(provider.write(refOf(`${base}/a#one`), change, { decided: new Set() })), "busy");
      assert.equal(await refusal(provider.read(refOf(`${base}/a`))), "secret_not_found");
    });

    test("a hundred writes at once all land", async (t) => {
      const provider = await open(t);
      await Promise.all(Array.from({ length: 100 }, (_, index) => write(provider, `${base}/many#k${index}`, String(index))));
      const map = JSON.parse(await readText(provider, `${base}/many`)) as Record<string, number>;
      assert.equal(Object.keys(map).length, 100);
      assert.equal(map["k42"], 42);
    });

    test("a value that is printed, joined or serialised shows itself nowhere", async (t) => {
      const provider = await open(t);
      await write(provider, `${base}/a#one`, '"hunter2-canary"');
      const { value } = await provider.read(refOf(`${base}/a#one`));
      const { inspect } = await import("node:util");
      for (const shown of [
        String(value),
        [value].join(),
        JSON.stringify({ value }),
        inspect(value),
        inspect({ deep: [value] }, { depth: 9, showHidden: true }),
      ])
        assert.ok(!shown.includes("hunter2"), shown);
    });
  });
};

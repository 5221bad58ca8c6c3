import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import { Problem } from "#contract/problem.ts";
import { parseLosslessJson } from "#contract/exact-numbers.ts";
import { parseSecretUri } from "#secrets/model/secret-uri.ts";
import { isSecretMap, parseSecretData, SecretValue, wireOf, type SecretData } from "#secrets/model/secret-value.ts";
import type { SecretRef } from "#secrets/model/tenant-guard.ts";
import { secretStores } from "#contract/secret-schemes.ts";
import { parseSchemeAliases } from "#secrets/model/uri-schemes.ts";
import type { Removal, SecretProvider, WriteExpectation } from "./secret-provider.ts";

const { schemes } = parseSchemeAliases([], "SECRETS_SCHEME_ALIASES");

/** A reference as the tenant guard would return it. */
export const refOf = (uri: string): SecretRef => Object.freeze({ ...parseSecretUri(uri, schemes), tenant: "tenant:acme" });

/** Stores keep keys in an order of their own. */
const sorted = (data: SecretData): SecretData =>
  isSecretMap(data)
    ? new Map(
        [...data].map(([name, item]): [string, SecretData] => [name, sorted(item)]).toSorted(([one], [other]) => (one < other ? -1 : 1)),
      )
    : Array.isArray(data)
      ? data.map(sorted)
      : data;
const textOf = (data: SecretData): string => JSON.stringify(wireOf(sorted(data)));
/** JSON in the form in which `readText` answers it. */
export const asRead = (json: string): string => textOf(parseSecretData(parseLosslessJson(json)));

/** The stored value as JSON text, every digit as it is held, keys in order. */
export const readText = async (provider: SecretProvider, uri: string): Promise<string> =>
  textOf(SecretValue.reveal((await provider.read(refOf(uri))).value));

/** What is decided before a removal, and the removal. */
export const remove = async (provider: SecretProvider, uri: string, more: Partial<Removal> = {}) => {
  const decided = new Set((await provider.nodes(refOf(uri))).map((node) => node.id));
  return provider.remove(refOf(uri), { hard: false, decided, ...more });
};

export const write = async (
  provider: SecretProvider,
  uri: string,
  json: string,
  { replace = false, ...expect }: { replace?: boolean } & Partial<WriteExpectation> = {},
) => {
  const change = { value: parseSecretData(parseLosslessJson(json)), replace };
  const decided = new Set((await provider.nodes(refOf(uri), change)).map((node) => node.id));
  return provider.write(refOf(uri), change, { decided, ...expect });
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

export interface OpenedProvider {
  readonly provider: SecretProvider;
  /** A place of it where nothing is yet, e.g. `yaml://secret`. */
  readonly base: string;
}

/** What every provider does alike. `open` gives a writable one, or `undefined` to skip; `keepsDigits`: of any number. */
export const testSecretProvider = (
  name: string,
  { open, keepsDigits }: { readonly open: (t: TestContext) => Promise<OpenedProvider | undefined>; readonly keepsDigits: boolean },
): void => {
  suite(`${name} as a secret provider`, () => {
    test("its abilities are those that its schemes declare", async (t) => {
      const opened = await open(t);
      if (opened === undefined) return;
      for (const scheme of opened.provider.schemes) assert.deepEqual([...opened.provider.can], secretStores[scheme].can, scheme);
    });

    test("what was written under a key is read there and in the map", async (t) => {
      const opened = await open(t);
      if (opened === undefined) return;
      const { provider, base } = opened;
      assert.equal((await write(provider, `${base}/team/app#password`, '"correct horse"')).created, true);
      assert.equal(await readText(provider, `${base}/team/app#password`), '"correct horse"');
      assert.equal(await readText(provider, `${base}/team/app`), '{"password":"correct horse"}');
    });

    test("a write under a key keeps its siblings, a repeated one is no creation", async (t) => {
      const opened = await open(t);
      if (opened === undefined) return;
      const { provider, base } = opened;
      await write(provider, `${base}/a#one`, "1");
      await write(provider, `${base}/a#two`, "2");
      assert.equal((await write(provider, `${base}/a#one`, "11")).created, false);
      assert.equal(await readText(provider, `${base}/a`), '{"one":11,"two":2}');
    });

    test("a map sets the keys it names; with replace it is all there is", async (t) => {
      const opened = await open(t);
      if (opened === undefined) return;
      const { provider, base } = opened;
      await write(provider, `${base}/a`, '{"one":1,"two":2}');
      await write(provider, `${base}/a`, '{"two":22,"three":3}');
      assert.equal(await readText(provider, `${base}/a`), asRead('{"one":1,"two":22,"three":3}'));
      await write(provider, `${base}/a#four`, "4", { replace: true });
      assert.equal(await readText(provider, `${base}/a`), '{"four":4}');
      await write(provider, `${base}/a`, '{"five":5}', { replace: true });
      assert.equal(await readText(provider, `${base}/a`), '{"five":5}');
    });

    test("absent paths and keys are told apart", async (t) => {
      const opened = await open(t);
      if (opened === undefined) return;
      const { provider, base } = opened;
      await write(provider, `${base}/a#one`, "1");
      assert.equal(await refusal(provider.read(refOf(`${base}/b`))), "secret_not_found");
      assert.equal(await refusal(provider.read(refOf(`${base}/b#one`))), "secret_not_found");
      assert.equal(await refusal(provider.read(refOf(`${base}/a#two`))), "key_not_found");
    });

    test("values keep type, digits, quotes, lines and names that are special elsewhere", async (t) => {
      const opened = await open(t);
      if (opened === undefined) return;
      const { provider, base } = opened;
      const beyondDoubles = ["12345678901234567890", "1.10", "1e400", "-0"];
      if (!keepsDigits)
        for (const value of beyondDoubles) assert.equal(await refusal(write(provider, `${base}/values#v`, value)), "value_shape");
      const values = [
        ...(keepsDigits ? beyondDoubles : []),
        "0.1",
        "9007199254740991",
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
        '{"__proto__":{"polluted":true},"constructor":1,"prototype":{"x":1},"1":2,"null":3,"~":4,"<<":5,"a: b":6,"":7}',
      ];
      for (const [index, value] of values.entries()) {
        await write(provider, `${base}/values#v${index}`, value);
        assert.equal(await readText(provider, `${base}/values#v${index}`), asRead(value));
      }
      for (const [index, value] of values.entries()) assert.equal(await readText(provider, `${base}/values#v${index}`), asRead(value));
      assert.equal(({} as { polluted?: boolean }).polluted, undefined);
    });

    test("cas 0 writes only where nothing is", async (t) => {
      const opened = await open(t);
      if (opened === undefined) return;
      const { provider, base } = opened;
      assert.equal((await write(provider, `${base}/a#one`, "1", { cas: 0 })).created, true);
      assert.equal(await refusal(write(provider, `${base}/a#one`, "2", { cas: 0 })), "cas_mismatch");
      assert.equal(await readText(provider, `${base}/a#one`), "1");
    });

    test("a target that must be free is written only where what is addressed is not there", async (t) => {
      const opened = await open(t);
      if (opened === undefined) return;
      const { provider, base } = opened;
      await write(provider, `${base}/a#one`, "1");
      assert.equal(await refusal(write(provider, `${base}/a#one`, "2", { mustNotExist: true })), "target_exists");
      await write(provider, `${base}/a#two`, "2", { mustNotExist: true });
      for (const [place, said] of [
        ["b", "secret_not_found"],
        ["b#one", "secret_not_found"],
        ["a#three", "key_not_found"],
        ["a#two", "done"],
      ] as const)
        assert.equal(
          await refusal(write(provider, `${base}/${place}`, place.includes("#") ? "2" : "{}", { mustExist: true })),
          said,
          place,
        );
      assert.equal(await readText(provider, `${base}/a`), '{"one":1,"two":2}');
    });

    test("a key that is removed leaves its siblings, a path that is removed is not there, and can be written anew", async (t) => {
      const opened = await open(t);
      if (opened === undefined) return;
      const { provider, base } = opened;
      await write(provider, `${base}/team/a`, '{"one":1,"two":2}');
      await remove(provider, `${base}/team/a#one`);
      assert.equal(await readText(provider, `${base}/team/a`), '{"two":2}');
      assert.equal(await refusal(remove(provider, `${base}/team/a#one`)), "key_not_found");
      await remove(provider, `${base}/team/a`);
      assert.match(await refusal(provider.read(refOf(`${base}/team/a`))), /^(?:secret_not_found|version_deleted)$/);
      assert.equal(await refusal(remove(provider, `${base}/never`)), "secret_not_found");
      assert.equal((await write(provider, `${base}/team/a#one`, "3", { cas: 0 })).created, true);
      assert.equal(await readText(provider, `${base}/team/a`), '{"one":3}');
    });

    test("what was written after it was read is not removed", async (t) => {
      const opened = await open(t);
      if (opened === undefined) return;
      const { provider, base } = opened;
      for (const uri of [`${base}/a`, `${base}/a#one`]) {
        await write(provider, `${base}/a#one`, "1");
        await write(provider, `${base}/a#two`, "2");
        const onlyIf = await provider.read(refOf(uri));
        await write(provider, `${base}/a#one`, "11");
        assert.equal(await refusal(remove(provider, uri, { onlyIf })), "source_changed");
        assert.equal(await readText(provider, `${base}/a`), '{"one":11,"two":2}');
        await remove(provider, uri, { onlyIf: await provider.read(refOf(uri)) });
      }
      assert.equal(await readText(provider, `${base}/a`), '{"two":2}');
    });

    test("a listing names what lies at and below a place, so deep and no further, in one order", async (t) => {
      const opened = await open(t);
      if (opened === undefined) return;
      const { provider, base } = opened;
      for (const path of ["team/b", "team/a", "team/deep/er/c", "team2/x", "team"]) await write(provider, `${base}/${path}#key`, '"v"');
      const list = async (path: string, depth: number) => {
        const { scheme, mount, segments } = refOf(`${base}/${path}`);
        return (await provider.list({ scheme, mount, segments }, depth)).items.map(({ node }) => node.id);
      };
      const id = (path: string) => refOf(`${base}/${path}`).id;
      assert.deepEqual(await list("team", 0), [id("team")]);
      assert.deepEqual(await list("team", 1), [id("team"), id("team/a"), id("team/b")]);
      assert.deepEqual(await list("team", 3), [id("team"), id("team/a"), id("team/b"), id("team/deep/er/c")]);
      assert.deepEqual(await list("nothing", 3), []);
    });

    test("keys are told of a secret and of a map in it, and what is not there as of a read", async (t) => {
      const opened = await open(t);
      if (opened === undefined) return;
      const { provider, base } = opened;
      await write(provider, `${base}/a`, '{"b":{"c":{"d":1}},"__proto__":2,"l":[{"x":1}],"t":"text"}');
      const reported = async (uri: string) => {
        const { keys, nodes } = await provider.keys(refOf(`${base}/${uri}`));
        return [...keys, ...nodes.map((name) => `${name}/`)].toSorted();
      };
      const isFile = provider.schemes.some((scheme) => secretStores[scheme].grammar.nestsSecrets === true);
      assert.deepEqual(await reported("a"), ["__proto__", isFile ? "b/" : "b", "l", "t"]);
      assert.deepEqual(await reported("a#b"), [isFile ? "c/" : "c"]);
      assert.deepEqual([await reported("a#t"), await reported("a#l")], [[], []]);
      const refusals: readonly string[] = await Promise.all(["a#none", "none", "none#k"].map((uri) => refusal(reported(uri))));
      assert.deepEqual(refusals, ["key_not_found", "secret_not_found", "secret_not_found"]);
      await remove(provider, `${base}/a`);
      assert.equal(await refusal(reported("a")), provider.can.has("versions") ? "version_deleted" : "secret_not_found");
    });

    test("without a key the value is a map", async (t) => {
      const opened = await open(t);
      if (opened === undefined) return;
      const { provider, base } = opened;
      assert.equal(await refusal(write(provider, `${base}/a`, '"text"')), "value_shape");
      assert.equal(await refusal(provider.read(refOf(`${base}/a`))), "secret_not_found");
    });

    test("a write that would touch more than was decided writes nothing", async (t) => {
      const opened = await open(t);
      if (opened === undefined) return;
      const { provider, base } = opened;
      const change = { value: "x", replace: false };
      assert.equal(await refusal(provider.write(refOf(`${base}/a#one`), change, { decided: new Set() })), "busy");
      assert.equal(await refusal(provider.read(refOf(`${base}/a`))), "secret_not_found");
    });

    test("a hundred writes at once all land", async (t) => {
      const opened = await open(t);
      if (opened === undefined) return;
      const { provider, base } = opened;
      await Promise.all(Array.from({ length: 100 }, (_, index) => write(provider, `${base}/many#k${index}`, String(index))));
      const map = JSON.parse(await readText(provider, `${base}/many`)) as Record<string, number>;
      assert.equal(Object.keys(map).length, 100);
      assert.equal(map["k42"], 42);
    });

    test("a value that is printed, joined or serialised shows itself nowhere", async (t) => {
      const opened = await open(t);
      if (opened === undefined) return;
      const { provider, base } = opened;
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

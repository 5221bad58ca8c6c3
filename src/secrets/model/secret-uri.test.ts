import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { Problem } from "#contract/problem.ts";
import { encodeKey } from "./secret-key.ts";
import { parseSecretPrefix, parseSecretUri } from "./secret-uri.ts";
import { parseSchemeAliases } from "./uri-schemes.ts";

const { schemes } = parseSchemeAliases(["openbao+kv2=vaultA+kv2", "vault+kv2=vaultB+kv2"], "SECRETS_SCHEME_ALIASES");
const parse = (input: unknown) => parseSecretUri(input, schemes);
const codeOf = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof Problem, String(error));
    assert.equal(error.status, 400);
    return error.code;
  }
  return "accepted";
};

const K = "vaultA+kv2://";
const X = `${K}kv-a/x`;

/** Each row: what is sent, and the code that refuses it. The order is that of the documented table of bad inputs. */
const refused: readonly (readonly [what: string, inputs: readonly unknown[], code: string])[] = [
  ["nothing", [undefined, ""], "uri_required"],
  ["what is no text", [["a"], {}, 7, null, true], "uri_type"],
  ["foreign schemes", ["file:///etc/passwd", "http://kv-a/x", "yamlx://secret/a", "://kv-a/x"], "uri_scheme"],
  ["schemes of version 1 or none", ["vaultA+kv1://kv-a/x", "vaultA://kv-a/x"], "uri_scheme"],
  ["a scheme with the Kelvin sign", ["vaultA+\u212Av2://kv-a/x"], "uri_scheme"],
  ["one slash or none", ["yaml:/secret/a", "yaml:secret/a", "secret"], "uri_syntax"],
  ["another mount of the file", ["yaml://other/a", "yaml://SECRET/a", "yaml:///a", "yaml://"], "uri_authority"],
  ["no path", ["yaml://secret", "yaml://secret/", `${K}kv-a`, `${K}kv-a/`, "yaml://secret#k"], "uri_path_empty"],
  ["userinfo, port, IPv6", [`${K}user:pw@kv-a/x`, `${K}kv-a:8200/x`, `${K}[::1]/x`], "uri_segment"],
  ["dot segments", [`${K}kv-a/../kv-b/x`, `${K}kv-a/./x`, `${K}kv-a/x/.`, `${K}kv-a/x/..`, `${K}../x`], "uri_dot_segment"],
  [
    "percent in a path",
    [
      `${K}kv-a/%2e%2e/kv-b/x`,
      `${K}kv-a/%2E./x`,
      `${K}kv-a/.%2e/x`,
      `${K}kv-a/a%2f..%2f..%2fsys%2fpolicy`,
      `${K}kv-a/%252e%252e/x`,
      `${K}kv-a%2Fother/x`,
      `${K}kv-a/%00`,
      `${K}kv-a/a%00.yaml`,
      `${K}kv-a/a%0d%0aX-Vault-Namespace:%20root`,
      "yaml://SECRET/a%2f",
    ],
    "uri_percent",
  ],
  ["empty segments", [`${K}kv-a//x`, `${K}//kv-a/x`, `${K}kv-a/x/`, `${K}/x`], "uri_empty_segment"],
  ["a backslash", [`${K}kv-a/a\\..\\b`], "uri_segment"],
  ["controls", [`${X}\u0000`, `${X}\u007f`, `${X}#a\tb`, `${X}\r`, `${X}\n`, `${X}\u0085`, `${X}#a\u0000`], "uri_control"],
  ["stray space", [` ${X}`, `${X} `, `\ufeff${X}`, `${X}\ufeff`, `\u00a0${X}`, `${X}\u00a0`], "uri_control"],
  ["letters beyond ASCII in a path", [`${K}kv-a/caf\u00e9`, `${K}kv-a/cafe\u0301`, `${K}kv-\u0430/x`, `${K}\uff4bv-a/x`], "uri_segment"],
  ["invisible marks in a path", [`${K}kv-a/a\u202eb`, `${K}kv-a/a\u200db`, `${K}kv-a/a\ud800`], "uri_segment"],
  ["invisible marks in a key", [`${X}#a\u202eb`, `${X}#a\u200db`, `${X}#a%E2%80%8D`, `${X}#a%00`, `${X}#a%EF%BB%BF`], "uri_key"],
  ["unassigned code points in a key", [`${X}#%F4%8F%BF%BF`], "uri_key"],
  ["a key that is not NFC", [`${X}#cafe\u0301`, `${X}#cafe%CC%81`], "uri_key"],
  ["a raw space in a key", [`${X}#a b`], "uri_key"],
  [
    "a key of broken encoding",
    [`${X}#a\ud800`, `${X}#%ff`, `${X}#%c0%ae`, `${X}#%zz`, `${X}#%`, `${X}#%4`, `${X}#%ed%a0%80`],
    "uri_key_encoding",
  ],
  ["an empty key", [`${X}#`, `${X}#?version=1`, `${X}?version=1#`], "uri_key_empty"],
  ["two keys", [`${X}#a#b`, `${X}?version=1#a#b`], "uri_key"],
  [
    "reserved keys of the file",
    ["yaml://secret/a#__proto__", "yaml://secret/a#constructor", "yaml://secret/a#prototype"],
    "uri_key_reserved",
  ],
  ["a reserved key spelt otherwise", ["yaml://secret/a#%5F_proto__"], "uri_key_reserved"],
  ["reserved segments of the file", ["yaml://secret/__proto__/x", "yaml://secret/a/constructor"], "uri_segment_reserved"],
  [
    "bad versions",
    ["0", "-1", "+1", "01", "1.0", "1e3", "0x1", "latest", "", "1".repeat(20), " 1"].map((n) => `${X}?version=${n}`),
    "uri_version",
  ],
  [
    "a version named twice",
    [`${X}?version=1&version=2#k`, `${X}?version=1#k?version=2`, `${X}#k?version=1&version=1`],
    "uri_query_repeated",
  ],
  [
    "another query",
    [`${X}?Version=1`, `${X}?ver=1`, `${X}?version=1&list=true`, `${X}?help=1`, `${X}?`, `${X}?version`, `${X}#k?`],
    "uri_query",
  ],
  ["a version of the file", ["yaml://secret/a#k?version=1", "yaml://secret/a?version=1"], "uri_version_unsupported"],
  [
    "what is too long",
    [
      `${K}${"a".repeat(1_048_576)}`,
      `${K}kv-a/${"a/".repeat(10_000)}x`,
      `${K}kv-a/${"a".repeat(129)}`,
      `${K}${"m".repeat(129)}/x`,
      `${K}kv-a${"/s".repeat(33)}`,
      `${X}#${"k".repeat(257)}`,
      `${X}#${"%6B".repeat(257)}`,
      "\u{1f600}".repeat(300),
    ],
    "uri_too_long",
  ],
  [
    "path characters with another meaning elsewhere",
    ["a;x=1", "a*", "a+b", "{{identity}}", "a b"].map((seg) => `${K}kv-a/${seg}`),
    "uri_segment",
  ],
];

suite("secret URI", () => {
  for (const [what, inputs, code] of refused) {
    test(`${what}: ${code}`, () => {
      for (const input of inputs)
        assert.equal(
          codeOf(() => parse(input)),
          code,
          JSON.stringify(input)?.slice(0, 80),
        );
    });
  }

  const accepted: readonly (readonly [input: string, canonical: string])[] = [
    ["VAULTA+KV2://kv-a/x", "vaulta+kv2://kv-a/x"],
    ["openbao+kv2://kv-a/x", "vaulta+kv2://kv-a/x"],
    ["Vault+KV2://kv-b/x", "vaultb+kv2://kv-b/x"],
    ["YAML://secret/People/Demo#api_key", "yaml://secret/People/Demo#api_key"],
    [`${X}#a/b`, "vaulta+kv2://kv-a/x#a/b"],
    [`${X}#a..b/../c`, "vaulta+kv2://kv-a/x#a..b/../c"],
    ...["__proto__", "constructor", "prototype"].map((key) => [`${X}#${key}`, `vaulta+kv2://kv-a/x#${key}`] as const),
    [`${K}kv-a/__proto__/x`, "vaulta+kv2://kv-a/__proto__/x"],
    [`${X}#%41%3f%23%25%20`, "vaulta+kv2://kv-a/x#A%3F%23%25%20"],
    [`${X}#caf\u00e9`, "vaulta+kv2://kv-a/x#caf%C3%A9"],
    [`${X}#a+b`, "vaulta+kv2://kv-a/x#a+b"],
    [`${X}?version=7#k`, "vaulta+kv2://kv-a/x#k?version=7"],
    [`${X}#k?version=9999999999`, "vaulta+kv2://kv-a/x#k?version=9999999999"],
    [`${X}?version=7`, "vaulta+kv2://kv-a/x?version=7"],
    [`${K}kv-a/data/x`, "vaulta+kv2://kv-a/data/x"],
    [`${K}kv-a/metadata/x`, "vaulta+kv2://kv-a/metadata/x"],
    [`${K}kv-a/config`, "vaulta+kv2://kv-a/config"],
    [`${K}KV-A/x`, "vaulta+kv2://KV-A/x"],
    [`${K}ns1/kv-a/x`, "vaulta+kv2://ns1/kv-a/x"],
    [`${K}kv-a/..a/a..`, "vaulta+kv2://kv-a/..a/a.."],
  ];
  for (const [input, canonical] of accepted) {
    test(`${input} is ${canonical}`, () => {
      assert.equal(parse(input).canonical, canonical);
    });
  }

  test("the struct holds decoded parts, is frozen, and its id names no version", () => {
    const uri = parse(`${K}kv-a/a/b?version=3#p%20q`);
    assert.deepEqual(uri, {
      scheme: "vaulta+kv2",
      mount: "kv-a",
      segments: ["a", "b"],
      key: "p q",
      version: 3,
      canonical: "vaulta+kv2://kv-a/a/b#p%20q?version=3",
      id: "vaulta+kv2://kv-a/a/b#p%20q",
    });
    assert.ok(Object.isFrozen(uri) && Object.isFrozen(uri.segments));
  });

  test("the detail of a refusal names rule and offset, never the text", () => {
    assert.throws(
      () => parse(`${K}kv-a/hunter2 is my password`),
      (error: Problem) => /offset 25/.test(error.message) && !error.message.includes("hunter2"),
    );
  });

  const precedence: readonly (readonly [input: string, first: string])[] = [
    [`\u0000${"a".repeat(1025)}`, "uri_too_long"],
    ["no scheme\u0001", "uri_control"],
    ["file:/a", "uri_syntax"],
    ["file://secret/a?x", "uri_scheme"],
    ["yaml://other/%2e?x", "uri_query"],
    ["yaml://other/%2e", "uri_percent"],
    ["yaml://other/..", "uri_authority"],
    ["yaml://secret/a+b//", "uri_empty_segment"],
    ["yaml://secret/__proto__/a+b", "uri_segment"],
    ["yaml://secret/__proto__/b#%zz", "uri_segment_reserved"],
    ["yaml://secret/a#%zz?version=0", "uri_key_encoding"],
    ["yaml://secret/a#k?version=0", "uri_version"],
  ];
  for (const [input, first] of precedence) {
    test(`of several faults the first by rule wins: ${first}`, () => {
      assert.equal(
        codeOf(() => parse(input)),
        first,
      );
    });
  }

  test("a canonical form that would be too long is refused, so every canonical form parses", () => {
    const input = `${K}kv-a/${"a".repeat(128)}/${"b".repeat(128)}/${"c".repeat(128)}#${"\u00e9".repeat(128)}`;
    assert.ok(Buffer.byteLength(input) <= 1024);
    assert.equal(
      codeOf(() => parse(input)),
      "uri_too_long",
    );
  });

  test("prefixes: a bare path lies under yaml://secret, one slash at the end is the same place", () => {
    assert.deepEqual(parseSecretPrefix("yaml://secret", schemes), { scheme: "yaml", mount: "secret", segments: [] });
    assert.deepEqual(parseSecretPrefix("yaml://secret/", schemes), { scheme: "yaml", mount: "secret", segments: [] });
    assert.deepEqual(parseSecretPrefix("team/a/", schemes), { scheme: "yaml", mount: "secret", segments: ["team", "a"] });
    assert.deepEqual(parseSecretPrefix(`${K}kv-a`, schemes), { scheme: "vaulta+kv2", mount: "kv-a", segments: [] });
    for (const [input, code] of [
      ["", "uri_required"],
      ["yaml://secret//", "uri_empty_segment"],
      ["/a", "uri_empty_segment"],
      ["a/../b", "uri_dot_segment"],
      ["yaml://secret/a#k", "uri_key"],
      [`${K}kv-a/a?version=1`, "uri_query"],
      ["yaml://other", "uri_authority"],
      ["a%2fb", "uri_percent"],
    ] as const) {
      assert.equal(
        codeOf(() => parseSecretPrefix(input, schemes)),
        code,
        input,
      );
    }
  });

  const spice = fc.constantFrom(
    "yaml",
    "vaultA+kv2",
    "openbao+kv2",
    "://",
    "/",
    "#",
    "?",
    "version=",
    "1",
    "%",
    "%2e",
    "%C3%A9",
    "..",
    ".",
    "kv-a",
    "secret",
    "a",
    "\u00e9",
    "e\u0301",
    "\u0000",
    " ",
    "+",
    "__proto__",
    "\ud800",
    "&",
  );
  const wild = fc.array(fc.oneof({ weight: 4, arbitrary: spice }, { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 4 }) }), {
    maxLength: 14,
  });
  const runs = Number(process.env["FAST_CHECK_RUNS"] ?? 100_000);

  test("any text is refused with a uri_ code or parses, and then parsing its canonical form changes nothing", () => {
    fc.assert(
      fc.property(wild, (parts) => {
        const text = parts.join("");
        let uri;
        try {
          uri = parse(text);
        } catch (error) {
          return error instanceof Problem && error.code.startsWith("uri_") && error.status === 400;
        }
        const again = parse(uri.canonical);
        assert.deepEqual(again, uri);
        return parse(uri.id).id === uri.id;
      }),
      { numRuns: runs },
    );
  });

  const segment = fc
    .string({ unit: fc.constantFrom(..."abzAZ09._~@-".split("")), minLength: 1, maxLength: 12 })
    .filter((text) => text !== "." && text !== "..");
  const key = fc
    .string({ unit: "grapheme", minLength: 1, maxLength: 30 })
    .filter((text) => text.isWellFormed() && text === text.normalize("NFC") && !/[\p{Cc}\p{Cf}\p{Cn}]/u.test(text));
  test("what is built from allowed parts parses to exactly these parts", () => {
    fc.assert(
      fc.property(
        fc.array(segment, { minLength: 1, maxLength: 8 }),
        fc.option(key),
        fc.option(fc.integer({ min: 1, max: 9_999_999_999 })),
        (segments, name, version) => {
          const text = `${X.slice(0, -2)}/${segments.join("/")}${name === null ? "" : `#${encodeKey(name)}`}${version === null ? "" : `?version=${version}`}`;
          const uri = parse(text);
          assert.deepEqual(
            [uri.segments, uri.key ?? null, uri.version ?? null, uri.canonical],
            [segments, name, version, text.replace("vaultA", "vaulta")],
          );
        },
      ),
      { numRuns: 5_000 },
    );
  });

  const part = (characters: string) =>
    fc.oneof(
      fc.string({ unit: fc.constantFrom(...characters.split("")), minLength: 1, maxLength: 6 }),
      fc.constantFrom(".", "..", "...", "-", "~", "@", "__proto__", "constructor", "secret", "a".repeat(128), "a".repeat(129)),
    );
  test("what is read in one pass is read as what must be read piece by piece: a URI alike but for one encoded letter", () => {
    const outcome = (text: string): unknown => {
      try {
        return parse(text);
      } catch (error) {
        return (error as Problem).code;
      }
    };
    const encoded = (letter: string): string => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`;
    fc.assert(
      fc.property(
        fc.constantFrom("yaml", "YAML", "vaultA+kv2", "vaulta+kv2", "openbao+kv2", "http"),
        part("aB0._-"),
        fc.array(part("aB0._~@-"), { minLength: 1, maxLength: 34 }),
        part("aZ9_-.~/@:!$&'()*+,;="),
        fc.constantFrom("", "?version=1", "?version=9999999999", "?version=0", "?version=10000000000"),
        (scheme, mount, segments, name, version) => {
          const place = `${scheme}://${mount}/${segments.join("/")}`;
          const letter = /[A-Za-z0-9]/.exec(name)?.[0];
          fc.pre(letter !== undefined);
          const other = name.replace(letter ?? "", encoded(letter ?? ""));
          assert.deepEqual(outcome(`${place}#${name}${version}`), outcome(`${place}#${other}${version}`));
        },
      ),
      { numRuns: 5_000 },
    );
  });

  test("equal texts after parsing are equal structs, and different structs have different texts", () => {
    fc.assert(
      fc.property(wild, wild, (one, other) => {
        const read = (parts: string[]) => {
          try {
            return parse(parts.join(""));
          } catch {
            return undefined;
          }
        };
        const [a, b] = [read(one), read(other)];
        if (a === undefined || b === undefined) return true;
        const parts = (uri: typeof a) => JSON.stringify([uri.scheme, uri.mount, uri.segments, uri.key, uri.version]);
        return (a.canonical === b.canonical) === (parts(a) === parts(b));
      }),
      { numRuns: 10_000 },
    );
  });
});

suite("scheme aliases", () => {
  const issuesOf = (pairs: readonly string[]) => parseSchemeAliases(pairs, "SECRETS_SCHEME_ALIASES").issues.map((issue) => issue.message);
  test("an alias of an alias, a scheme's own name, an unknown target and a repeat are start faults, all told at once", () => {
    const issues = issuesOf(["a=b", "b=yaml", "yaml=vaultA+kv2", "c=nowhere", "b=yaml", "nothing"]);
    assert.equal(issues.length, 5);
    assert.match(issues[0] ?? "", /alias of the alias/);
  });
  test("the defaults have no fault", () => {
    assert.deepEqual(issuesOf(["openbao+kv2=vaultA+kv2", "vault+kv2=vaultB+kv2"]), []);
  });
});

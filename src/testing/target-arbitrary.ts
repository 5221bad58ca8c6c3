import fc from "fast-check";

/** What attacks on paths are made of: separators, dots, bytes and ends of lines, in every spelling that some reader takes. */
const hostile = [
  ..."/ // /// /. /.. /./ /../ . .. ... ; ;/ ;x=1 ..;/ ..;x /..; /.; \\ /\\ \\.. ? ?? ?/../ # #/ * ~ : @ ! $ & ' ( ) + , =".split(" "),
  ..."%2e %2E %2e%2e %2E%2e .%2e %2e. %2f %2F %2f%2f %2F.. ..%2f %5c %5C ..%5c %252e %252E %252e%252e %252f %25252f %255c".split(" "),
  ..."%3b %3B ..%3b %3Bx %3f %3F %23 %25 %2525 %00 %01 %09 %0a %0D %0d%0a %1f %7f %7F %20 %2B %2a %3a %40 %7e %5f %2d %41".split(" "),
  ..."%c0%ae %C0%AF %e0%80%af %c0%2f %c1%9c %f0%80%80%af %ed%a0%80 %c3%a4 %C3%84 %e2%82%ac %e9 %80 %ff %c3 %ef%bc%8f %ef%bd%9e".split(" "),
  ...'%u002e %u2215 %uff0e % %2 %g1 %% { } < > " ^ ` | [ ] \t \r \n \0 \x7f \x80 \xe4 \xff %61dmin %70ublic a%70i'.split(" "),
];

const plain =
  "a b x admin public api t b encoded semicolon index.html a.b ..a a.. .a a...b 1 x-y x_y X~ %C3%A4 %20 a%20b a+b a:b a@b".split(" ");

/** Beginnings that lie at, near and beyond the rows of a table. */
const rows = "/public/ /admin/ /api/t/ /api/b/ /encoded/ /semicolon/".split(" ");
const fronts = [...rows, ...rows, ...rows, ...rows, ..."/api/ / /public /admin /PUBLIC/ /Admin/ /public../ /api/tt/".split(" ")];

const queries = ["", "", "", "", "", "", "?", "?a=1", "?/../admin", "?p=/admin/..%2f", "??", "?%00", "?a=%zz", "?%2e%2e/", "?a#b"];

const percent = (text: string, at: number, upper: boolean): string => {
  const code = text.charCodeAt(at).toString(16).padStart(2, "0");
  return `${text.slice(0, at)}%${upper ? code.toUpperCase() : code}${text.slice(at + 1)}`;
};

/** One small change of a path that was fine: a piece put in, a character encoded once or twice, one cut out. */
type Change = readonly [kind: number, where: number, what: number];

const apply = (target: string, [kind, where, what]: Change): string => {
  const at = where % Math.max(target.length, 1);
  if (kind < 4) return `${target.slice(0, at)}${hostile[what % hostile.length] ?? ""}${target.slice(at)}`;
  if (kind < 8) return percent(target, at, kind % 2 === 0);
  if (kind === 8) return percent(percent(target, at, what % 2 === 0), at, what % 3 === 0);
  return target.slice(0, at) + target.slice(at + 1);
};

const changes = fc.array(fc.tuple(fc.nat({ max: 9 }), fc.nat({ max: 200 }), fc.nat({ max: hostile.length - 1 })), { maxLength: 2 });

const wellMeant = fc
  .tuple(
    fc.constantFrom(...fronts),
    fc.array(fc.constantFrom(...plain), { minLength: 1, maxLength: 4 }),
    fc.constantFrom("", "", "/"),
    fc.constantFrom(...queries),
    changes,
  )
  .map(([front, segments, end, query, made]) => made.reduce(apply, `${front}${segments.join("/")}${end}${query}`));

const collage = fc
  .tuple(fc.constantFrom(...fronts), fc.array(fc.constantFrom(...hostile, ...plain), { maxLength: 10 }))
  .map(([front, pieces]) => front + pieces.join(""));

const noise = fc.string({ unit: "binary-ascii", maxLength: 30 }).map((text) => `/${text}`);

/**
 * Request targets as attackers write them, mixed with plain ones, so that a good share is served and each refusal is
 * near something that would be.
 */
export const targetArbitrary: fc.Arbitrary<string> = fc.oneof(
  { weight: 15, arbitrary: wellMeant },
  { weight: 3, arbitrary: collage },
  { weight: 1, arbitrary: noise },
);

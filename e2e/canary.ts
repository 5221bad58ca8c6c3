/** The ways in which a careless part could carry a text: as it is, encoded, escaped, or inside a longer base64 text. */
export const formsOf = (secret: string): readonly (readonly [name: string, text: string])[] => {
  const bytes = Buffer.from(secret, "utf8");
  const shifted = [1, 2].map((offset) => {
    // Whole groups of three bytes that do not depend on what stands before or after.
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString("base64");
    return encoded.slice(4, encoded.length - 4);
  });
  const base64 = bytes.toString("base64").replace(/=+$/, "");
  return [
    ["raw", secret],
    ["base64", base64.slice(0, -2)],
    ["base64, shifted by one", shifted[0] ?? ""],
    ["base64, shifted by two", shifted[1] ?? ""],
    ["base64url", bytes.toString("base64url").slice(0, -2)],
    ["hex", bytes.toString("hex")],
    ["reversed", secret.split("").toReversed().join("")],
  ];
};

import { z } from "zod";

export type JsonSchema = Record<string, unknown>;

const SAFE = Number.MAX_SAFE_INTEGER;

/** `needed` in the meta data of a member: without it there is a refusal of its own, which the schema as code does not make. */
const requireNeeded = (schema: JsonSchema): void => {
  const members = Object.entries((schema["properties"] ?? {}) as Record<string, JsonSchema>);
  const needed = members.filter(([, member]) => member["needed"] === true);
  if (needed.length === 0) return;
  schema["required"] = [...((schema["required"] ?? []) as readonly string[]), ...needed.map(([name]) => name)];
  // Afterwards: two members of one form may be one object.
  for (const [, member] of needed) delete member["needed"];
};

/**
 * A zod schema as JSON Schema 2020-12, without what only repeats a format. `io`: what is sent
 * (`input`) or what is answered (`output`; then further members may come, so objects stay open).
 */
export const jsonSchemaOf = (schema: z.ZodType, io: "input" | "output"): JsonSchema => {
  const { $schema: _dialect, ...made } = z.toJSONSchema(schema, {
    io,
    target: "draft-2020-12",
    unrepresentable: "any",
    reused: "inline",
    override: ({ jsonSchema }) => {
      requireNeeded(jsonSchema);
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
      // What is sent is refused beyond them; of what is answered they say nothing.
      if (io === "output" && jsonSchema.maximum === SAFE) delete jsonSchema.maximum;
      if (io === "output" && jsonSchema.minimum === -SAFE) delete jsonSchema.minimum;
      if (io === "output" && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
    },
  });
  return made;
};

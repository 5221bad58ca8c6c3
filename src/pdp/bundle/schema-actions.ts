import { readSchema } from "./schema.ts";

/** Ids of the actions that a schema declares (`<type>:<action>`); none of a schema that cannot be read. Starts the engine's parser. */
export const schemaActions = (text: string): ReadonlySet<string> => new Set(readSchema(text, [])?.actions.keys());

import { StreamLanguage, type StreamParser } from "@codemirror/language";

/**
 * Cedar and its schema, token by token: enough to tell keywords, entity types, strings, comments and annotations apart.
 * What is right Cedar is for the server to say.
 */

const KEYWORDS = new Set(["permit", "forbid", "when", "unless", "if", "then", "else", "in", "has", "like", "is"]);
const VARIABLES = new Set(["principal", "action", "resource", "context"]);
const SCHEMA_KEYWORDS = new Set(["entity", "type", "namespace", "appliesTo", "attributes", "enum", "tags"]);
const SCHEMA_TYPES = new Set(["Set", "Long", "Bool", "String"]);

const NAME = /^[A-Za-z_]\w*/;
const PATH = /^[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*(?=::")/;

/** The rest of a line that opens a string; it ends there even when it is not closed. */
const STRING = /^"(?:[^"\\]|\\.)*"?/;

const nameToken = (name: string, isMember: boolean, isSchema: boolean): string | null => {
  if (isMember) return "propertyName";
  if (name === "true" || name === "false") return "bool";
  if (isSchema && (SCHEMA_KEYWORDS.has(name) || name === "action")) return "keyword";
  if (KEYWORDS.has(name)) return "keyword";
  if (VARIABLES.has(name)) return "variableName.special";
  if (SCHEMA_TYPES.has(name) || /^[A-Z]/.test(name)) return "typeName";
  return "variableName";
};

const parserOf = (isSchema: boolean): StreamParser<{ isMember: boolean }> => ({
  name: isSchema ? "cedarschema" : "cedar",
  startState: () => ({ isMember: false }),
  token: (stream, state) => {
    if (stream.eatSpace()) return null;
    const { isMember } = state;
    state.isMember = false;
    if (stream.match("//")) {
      stream.skipToEnd();
      return "lineComment";
    }
    if (stream.match(STRING)) return "string";
    if (stream.match(/^@[A-Za-z_]\w*/)) return "annotation";
    if (stream.match(/^\d+/)) return "number";
    if (stream.match(PATH)) return "typeName";
    const name = stream.match(NAME);
    if (Array.isArray(name)) return nameToken(name[0], isMember, isSchema);
    if (stream.match(/^(?:&&|\|\||[=!<>]=|::|[!<>+*-])/)) return "operator";
    state.isMember = stream.next() === ".";
    return null;
  },
  languageData: { commentTokens: { line: "//" } },
});

const yaml: StreamParser<null> = {
  name: "yaml",
  token: (stream) => {
    if (stream.eatSpace()) return null;
    if (stream.match(/^#.*/)) return "lineComment";
    if (stream.match(STRING) || stream.match(/^'[^']*'?/)) return "string";
    if (stream.match(/^[\w.-]+(?=\s*:(?:\s|$))/)) return "propertyName";
    if (stream.match(/^(?:true|false|null)\b/)) return "bool";
    if (stream.match(/^-?\d+(?:\.\d+)?\b/)) return "number";
    // A quote inside a word opens nothing, and a `#` no comment: `one's`, `a#b`.
    if (stream.match(/^[\w./:@-][\w./:@'#-]*/)) return null;
    stream.next();
    return null;
  },
  languageData: { commentTokens: { line: "#" } },
};

const cedarLanguage = StreamLanguage.define(parserOf(false));
const schemaLanguage = StreamLanguage.define(parserOf(true));
const yamlLanguage = StreamLanguage.define(yaml);

/** The language of a file of the bundle, by its name. */
export const languageOf = (path: string): StreamLanguage<unknown> => {
  if (path.endsWith(".cedarschema")) return schemaLanguage;
  return path.endsWith(".yaml") ? yamlLanguage : cedarLanguage;
};

import type { ReactElement } from "react";
import { isObject } from "#contract/is-object.ts";
import type { ToolDescriptor } from "#contract/tools.ts";
import { words } from "../../strings/en.ts";
import { toolWords } from "../../strings/tools.ts";
import { whyWords } from "../../strings/why.ts";
import { Fact, FactList, TextFact } from "../../ui/fact-list.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Tree } from "../../ui/tree.tsx";
import { systemOf, tagsOf } from "./tool-filter.ts";

const typeText = (schema: Readonly<Record<string, unknown>>): string => {
  if (Array.isArray(schema["enum"])) return schema["enum"].map((value) => JSON.stringify(value)).join(" | ");
  if (Array.isArray(schema["type"])) return schema["type"].join(" | ");
  return typeof schema["type"] === "string" ? schema["type"] : "";
};

/** Input schema, one line a property, nested ones below. */
const SchemaTree = ({
  schema,
  depth = 0,
}: {
  readonly schema: Readonly<Record<string, unknown>>;
  readonly depth?: number;
}): ReactElement | null => {
  const { properties } = schema;
  if (!isObject(properties) || depth > 8) return null;
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  return (
    <ul className={depth === 0 ? "sp-list" : "sp-list sp-indent"}>
      {Object.entries(properties).map(([name, value]) => {
        const inner = isObject(value) ? value : {};
        const description = inner["description"];
        return (
          <li key={name}>
            <Foreign text={name} isCode /> <span className="sp-small sp-dim">{typeText(inner)}</span>
            {required.includes(name) ? <span className="sp-small"> {words.common.aside(toolWords.required)}</span> : null}
            {typeof description === "string" ? (
              <div className="sp-small sp-dim">
                <Foreign text={description} />
              </div>
            ) : null}
            <SchemaTree schema={isObject(inner["items"]) ? inner["items"] : inner} depth={depth + 1} />
          </li>
        );
      })}
    </ul>
  );
};

const quiet = new Set(["tags", "title"]);

export const SchemaPanel = ({ tool }: { readonly tool: ToolDescriptor }): ReactElement => {
  const { properties } = tool.inputSchema;
  const hasArguments = isObject(properties) && Object.keys(properties).length > 0;
  return (
    <Panel title={toolWords.schema}>
      {hasArguments ? <SchemaTree schema={tool.inputSchema} /> : <p className="sp-dim">{toolWords.schemaNone}</p>}
    </Panel>
  );
};

/** What the list of tools says of it. */
export const ToolFacts = ({ tool }: { readonly tool: ToolDescriptor }): ReactElement => {
  const claims = Object.entries(tool.annotations ?? {}).filter(([name]) => !quiet.has(name));
  return (
    <Panel title={whyWords.details}>
      <FactList>
        <Fact name={toolWords.source}>{tool.source}</Fact>
        <TextFact name={toolWords.from} text={systemOf(tool) || undefined} />
        <TextFact name={toolWords.env} text={tool.metadata?.env} />
        <TextFact name={toolWords.tags} text={tagsOf(tool).join(", ") || undefined} />
      </FactList>
      {claims.length === 0 ? null : (
        <>
          <h3>
            {toolWords.annotations} <span className="sp-small sp-dim">{words.common.aside(toolWords.claimed)}</span>
          </h3>
          <Tree value={Object.fromEntries(claims)} />
        </>
      )}
    </Panel>
  );
};

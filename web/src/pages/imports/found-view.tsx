import type { ReactElement } from "react";
import type { Looked } from "../../api/systems.ts";
import { words } from "../../strings/en.ts";
import { systemWords } from "../../strings/systems.ts";
import { Fact, FactList, TextFact } from "../../ui/fact-list.tsx";
import { Foreign } from "../../ui/foreign.tsx";

const text = systemWords.importing;

/** What Sallyport read of the document. */
export const FoundView = ({
  looked: { title, openapi, servers, security, operations, importable },
}: {
  readonly looked: Looked;
}): ReactElement => (
  <div>
    <h3>{text.found}</h3>
    <FactList>
      <TextFact name={text.heading} text={title} />
      <TextFact name={text.form} text={openapi} isCode />
      <Fact name={text.server}>{servers.length === 0 ? words.common.none : <Foreign text={servers.join(", ")} isCode />}</Fact>
      <Fact name={text.sign}>
        {security.length === 0 ? (
          words.common.none
        ) : (
          <Foreign
            text={security.map((one) => [one.type, one.in, one.parameter].filter((part) => part !== undefined).join(" ")).join(", ")}
          />
        )}
      </Fact>
    </FactList>
    <p>
      <strong>{text.counts(importable, operations)}</strong>
      {importable === operations ? null : <span className="sp-dim"> {text.refused(operations - importable)}</span>}
    </p>
  </div>
);

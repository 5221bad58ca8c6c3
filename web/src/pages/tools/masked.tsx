import type { ReactElement } from "react";
import type { MaskedPlace } from "#contract/masked-places.ts";
import { words } from "../../strings/en.ts";
import { visibleText } from "../../strings/format.ts";
import { toolWords } from "../../strings/tools.ts";
import { Foreign } from "../../ui/foreign.tsx";
import { Icon } from "../../ui/icon.tsx";
import { ruleOf } from "./call-result.ts";

const text = toolWords.masked;

const sentenceOf = (mask: MaskedPlace): string => {
  const { by, name } = ruleOf(mask);
  const how = text.kinds[mask.kind];
  return visibleText(by === "data_scope" ? text.byScope(how, name) : text.byTool(how, name, mask.unless));
};

/** The rule in a word or two: what people have to ask for. */
const shortRuleOf = (mask: MaskedPlace): string =>
  ruleOf(mask).by === "data_scope" ? text.dataScope : (mask.unless?.split("/").at(-1) ?? text.always);

/** In place of a value that was hidden, or beside what was left of it: looks like no value, and names the rule. */
export const Masked = ({ mask, left }: { readonly mask: MaskedPlace; readonly left?: string | undefined }): ReactElement => (
  <span className="sp-masked" title={sentenceOf(mask)}>
    {left === undefined ? null : <Foreign text={left} />}
    <span className="sp-chip" data-tone="quiet">
      <Icon name="hidden" size={13} />
      {visibleText(text.chip(text.short[mask.kind], shortRuleOf(mask)))}
    </span>
  </span>
);

/** All that was hidden in a result, place by place: what was done there, and by which rule. */
export const MaskedLegend = ({ masked }: { readonly masked: readonly MaskedPlace[] }): ReactElement | null =>
  masked.length === 0 ? null : (
    <section aria-label={text.title} className="sp-small">
      <strong>{text.title}</strong>
      <ul className="sp-list">
        {masked.map((mask) => (
          <li key={mask.path}>
            <Foreign text={words.common.named(mask.path.split("/").at(-1) ?? mask.path)} isCode /> {sentenceOf(mask)}
          </li>
        ))}
      </ul>
    </section>
  );

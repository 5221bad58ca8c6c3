import type { ReactElement } from "react";
import { visibleText } from "../../strings/format.ts";

export const Tags = ({ tags }: { readonly tags: readonly string[] }): ReactElement => (
  <span className="sp-actions">
    {tags.map((tag) => (
      <span key={tag} className="sp-tag">
        {visibleText(tag)}
      </span>
    ))}
  </span>
);

import type { ReactElement } from "react";
import { useSession } from "../session/session-context.ts";
import { words } from "../strings/en.ts";
import { visibleText } from "../strings/format.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { useUi } from "./use-modules.ts";

/** Whom to ask for what this person may not, and all that they need to know, ready to be sent. */
export const AskSomebody = ({
  what,
  decisionId = "",
}: {
  readonly what: string;
  readonly decisionId?: string | undefined;
}): ReactElement => {
  const { subject, tenant } = useSession();
  const contact = useUi()?.brand["contact"];
  return (
    <>
      <p>{contact === undefined ? words.gate.whoCan : words.gate.contact(visibleText(contact))}</p>
      <div>
        <CopyButton
          label={words.gate.copyAsk}
          text={() => words.gate.askText(`${subject.name} (${subject.id})`, tenant, what, location.href, decisionId)}
        />
      </div>
    </>
  );
};

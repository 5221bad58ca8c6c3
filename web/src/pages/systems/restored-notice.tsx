import { Button } from "@mantine/core";
import type { ReactElement } from "react";
import { systemWords } from "../../strings/systems.ts";

/** What was written before a reload is there again; to be thrown away here, where the page has no button for it. */
export const RestoredNotice = ({ onDiscard }: { readonly onDiscard?: () => void }): ReactElement => (
  <div className="sp-notice" role="status">
    {systemWords.one.restored}
    {onDiscard === undefined ? null : (
      <Button variant="default" onClick={onDiscard}>
        {systemWords.one.discard}
      </Button>
    )}
  </div>
);

import { Button } from "@mantine/core";
import type { ReactElement } from "react";
import { systemWords } from "../../strings/systems.ts";

/** What was written before a reload is there again; or thrown away. */
export const RestoredNotice = ({ onDiscard }: { readonly onDiscard: () => void }): ReactElement => (
  <div className="sp-notice" role="status">
    {systemWords.one.restored}
    <Button variant="default" onClick={onDiscard}>
      {systemWords.one.discard}
    </Button>
  </div>
);

import type { ReactElement } from "react";
import type { Mount } from "../../api/secrets.ts";
import { CarryDialog, DestroyDialog, RemoveDialog, RestoreDialog } from "./other-dialogs.tsx";
import type { Done } from "./planned-dialog.tsx";
import type { ActName } from "./secret-acts.tsx";
import { RotateDialog, WriteDialog } from "./write-dialogs.tsx";

/** The dialog of an act; none where the address names an act without what it is about. */
export const SecretDialog = ({
  act,
  uri,
  secretKey,
  version,
  mounts,
  onDone,
  onClose,
}: {
  readonly act: ActName;
  readonly uri: string;
  readonly secretKey: string | undefined;
  readonly version: number | undefined;
  readonly mounts: readonly Mount[];
  readonly onDone: (done: Done) => void;
  readonly onClose: () => void;
}): ReactElement | null => {
  const shared = { mounts, onDone, onClose, uri };
  switch (act) {
    case "write":
      return <WriteDialog {...shared} secretKey={secretKey} />;
    case "copy":
    case "move":
      return <CarryDialog {...shared} isMove={act === "move"} />;
    case "delete":
      return <RemoveDialog {...shared} />;
    case "rotate":
      return secretKey === undefined ? null : <RotateDialog {...shared} secretKey={secretKey} />;
    case "remove":
      return secretKey === undefined ? null : <RemoveDialog {...shared} secretKey={secretKey} />;
    case "destroy":
      return <DestroyDialog {...shared} version={version} />;
    case "restore":
      return version === undefined ? null : <RestoreDialog {...shared} version={version} />;
  }
};

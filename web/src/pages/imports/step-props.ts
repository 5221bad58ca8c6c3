import type { SystemRow } from "../../api/systems.ts";
import type { ImportDraft, ImportFields } from "./import-draft.ts";

export interface StepProps {
  readonly draft: ImportDraft;
  /** The system of that name, where there is one: it is brought up to date. */
  readonly present: SystemRow | undefined;
  readonly onChange: (draft: ImportDraft) => void;
  readonly onFields: (more: Partial<ImportFields>) => void;
  readonly onNext: () => void;
  readonly onBack: () => void;
}

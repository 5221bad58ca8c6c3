import type { ReactElement } from "react";
import type { SwitchedOff } from "#contract/switched-off.ts";
import { words } from "../strings/en.ts";
import { formatMoment } from "../strings/format.ts";
import { switchWords } from "../strings/switches.ts";
import { Chip } from "./chip.tsx";
import { Foreign } from "./foreign.tsx";

const text = switchWords;

export const OffChip = (): ReactElement => <Chip tone="deny" icon="cross" text={text.off} />;

/** That something is switched off, by whom and why, and until when. */
export const OffBy = ({ off: { by, scope, reason, until } }: { readonly off: SwitchedOff }): ReactElement => (
  <>
    <OffChip /> <Foreign text={text.offBy(by, scope, reason)} />{" "}
    {words.common.aside(until === null ? text.untilLifted : text.until(formatMoment(until)))}
  </>
);

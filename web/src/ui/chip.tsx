import type { ReactElement } from "react";
import { words } from "../strings/en.ts";
import { Icon, type IconName } from "./icon.tsx";

export type Tone = "allow" | "deny" | "stepup" | "run" | "quiet";

export interface ChipProps {
  readonly tone: Tone;
  readonly icon: IconName;
  readonly text: string;
}

/** A word with an icon and a colour: never the colour alone. */
export const Chip = ({ tone, icon, text }: ChipProps): ReactElement => (
  <span className="sp-chip" data-tone={tone}>
    <Icon name={icon} size={13} />
    {text}
  </span>
);

/** The same in a row, without a ground. A good state colours the icon alone. */
export const Status = ({ tone, icon, text }: ChipProps): ReactElement => (
  <span className="sp-status" data-tone={tone}>
    <Icon name={icon} size={14} />
    {text}
  </span>
);

const verdicts = {
  allow: { tone: "allow", icon: "check" },
  deny: { tone: "deny", icon: "cross" },
  step_up: { tone: "stepup", icon: "key" },
  unknown: { tone: "quiet", icon: "question" },
  depends: { tone: "stepup", icon: "question" },
  skipped: { tone: "quiet", icon: "clock" },
  pass: { tone: "allow", icon: "check" },
  fail: { tone: "deny", icon: "cross" },
  active: { tone: "allow", icon: "check" },
  paused: { tone: "stepup", icon: "pause" },
  revoked: { tone: "deny", icon: "cross" },
  expired: { tone: "quiet", icon: "clock" },
  exhausted: { tone: "deny", icon: "warning" },
} as const satisfies Readonly<Record<string, { tone: Tone; icon: IconName }>>;

export type VerdictName = keyof typeof verdicts;

export const Verdict = ({ of }: { readonly of: VerdictName }): ReactElement => <Chip {...verdicts[of]} text={words.verdict[of]} />;

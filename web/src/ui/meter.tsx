import type { ReactElement } from "react";
import { words } from "../strings/en.ts";

export interface MeterProps {
  readonly label: string;
  readonly used: number;
  readonly held: number;
  readonly max: number;
  readonly format: (value: number) => string;
  /** Where the values come from, e.g. "live" or their age. */
  readonly note?: string;
  readonly isStale?: boolean;
}

const percent = (part: number, max: number): string => `${max <= 0 ? 0 : Math.min(100, (part / max) * 100)}%`;

/** How much of a limit is used and held: bar, words and the same for screen readers. */
export const Meter = ({ label, used, held, max, format, note, isStale = false }: MeterProps): ReactElement => {
  const text = words.meters.meterText(format(used), format(held), format(max), held > 0);
  const isFull = used + held >= max;
  return (
    <div className="sp-meter">
      <div
        className="sp-meter-bar"
        role="meter"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={max}
        aria-valuenow={Math.min(used + held, max)}
        aria-valuetext={text}
        data-full={isFull ? "" : undefined}
      >
        <span className="sp-meter-used" style={{ width: percent(used, max) }} />
        <span className="sp-meter-held" style={{ width: percent(held, max) }} />
      </div>
      <span className={isStale ? "sp-meter-text sp-stale" : "sp-meter-text"} aria-hidden="true">
        {words.common.facts(text, note ?? "")}
      </span>
    </div>
  );
};

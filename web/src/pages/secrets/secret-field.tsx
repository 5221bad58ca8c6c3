import { Checkbox, PasswordInput, Textarea } from "@mantine/core";
import { useState, type ReactElement } from "react";
import { secretWords } from "../../strings/secrets.ts";

/** A value that is typed and not shown: of one line, or of several, which a field for passwords would run together. */
export const SecretField = ({
  label,
  value,
  error,
  onChange,
}: {
  readonly label: string;
  readonly value: string;
  readonly error: string | undefined;
  readonly onChange: (value: string) => void;
}): ReactElement => {
  const [hasLines, setLines] = useState(false);
  const shared = {
    label,
    value,
    error,
    required: true,
    autoComplete: "off",
    spellCheck: false,
    onChange: (event: { readonly currentTarget: { readonly value: string } }) => onChange(event.currentTarget.value),
  };
  return (
    <div className="sp-stack sp-tight">
      {hasLines ? (
        <Textarea {...shared} rows={4} className="sp-covered" />
      ) : (
        <PasswordInput {...shared} autoComplete="new-password" size="xs" />
      )}
      <Checkbox size="xs" label={secretWords.write.lines} checked={hasLines} onChange={(event) => setLines(event.currentTarget.checked)} />
    </div>
  );
};

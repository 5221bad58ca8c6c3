import { NativeSelect, TextInput } from "@mantine/core";
import { useState, type ReactElement } from "react";
import { useClient } from "../../api/client-context.ts";
import { useCan } from "../../decisions/use-can.ts";
import { systemWords } from "../../strings/systems.ts";
import { StepForm } from "../../ui/step-form.tsx";
import { SuggestInput } from "../../ui/suggest-input.tsx";
import { authKindOf, credentialFields, faultyFields, type ImportFields } from "./import-draft.ts";
import { secretSuggestions } from "./secret-suggestions.ts";
import type { StepProps } from "./step-props.ts";

const text = systemWords.importing;
const issueOf = (field: string): string =>
  field === "baseUrl" || field === "tokenUrl" ? text.baseIssue : field === "name" ? text.keyNameIssue : text.secretIssue;

/** Where the system is and how Sallyport signs in there. */
export const ConnectStep = ({ draft, onFields, onNext, onBack }: StepProps): ReactElement => {
  const client = useClient();
  const [hasTried, setTried] = useState(false);
  const maySee = useCan({ type: "secrets", action: "view_all" }) === "allowed";
  const { fields } = draft;
  const kind = authKindOf(fields);
  const wrong = faultyFields("connect", draft, false, false);
  const shown = (field: string): string | undefined => (hasTried && wrong.includes(field) ? issueOf(field) : undefined);
  const field = (name: keyof ImportFields, label: string, description?: string, isRequired = false): ReactElement => (
    <TextInput
      id={name}
      label={label}
      description={description}
      required={isRequired}
      value={fields[name]}
      error={shown(name)}
      spellCheck={false}
      autoComplete="off"
      onChange={(event) => onFields({ [name]: event.currentTarget.value })}
    />
  );
  return (
    <StepForm
      issues={wrong.map((name) => ({ field: name, text: issueOf(name) }))}
      hasTried={hasTried}
      onTried={setTried}
      onNext={onNext}
      onBack={onBack}
    >
      <div className="sp-form">
        {field("title", text.heading, text.headingHint)}
        {field("baseUrl", text.base, text.baseHint, true)}
        {field("networks", text.networks, text.networkHint)}
        <NativeSelect
          label={text.auth}
          description={text.authHint}
          value={kind}
          data={(["none", "bearer", "api_key", "basic", "oauth2_client"] as const).map((value) => ({ value, label: text.auths[value] }))}
          onChange={(event) => onFields({ auth: event.currentTarget.value })}
        />
        {kind === "api_key" ? (
          <>
            <NativeSelect
              label={text.where}
              value={fields.in}
              data={(["header", "query"] as const).map((value) => ({ value, label: text.wheres[value] }))}
              onChange={(event) => onFields({ in: event.currentTarget.value })}
            />
            {field("name", text.keyName, undefined, true)}
          </>
        ) : null}
        {kind === "oauth2_client" ? (
          <>
            {field("tokenUrl", text.tokenUrl, undefined, true)}
            {field("scopes", text.scopes, text.scopesHint)}
          </>
        ) : null}
        {credentialFields(kind).map((name) => (
          <SuggestInput
            key={name}
            id={name}
            label={text.credential[name]}
            required
            description={text.secretHint}
            error={shown(name)}
            value={fields[name]}
            suggest={maySee ? (typed) => secretSuggestions(client, typed) : undefined}
            onChange={(value) => onFields({ [name]: value })}
          />
        ))}
      </div>
    </StepForm>
  );
};

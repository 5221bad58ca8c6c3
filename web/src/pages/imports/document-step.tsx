import { FileInput, SegmentedControl, Textarea, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";
import { MAX_IMPORT_BYTES } from "#contract/imports.ts";
import { useClient } from "../../api/client-context.ts";
import { lookAt } from "../../api/systems.ts";
import { systemWords } from "../../strings/systems.ts";
import { ActButton } from "../../ui/act-button.tsx";
import { Failure } from "../../ui/failure.tsx";
import { StepForm } from "../../ui/step-form.tsx";
import { faultyFields, withLooked, type ImportFields } from "./import-draft.ts";
import type { StepProps } from "./step-props.ts";

const text = systemWords.importing;
const issues: Readonly<Record<string, string>> = {
  provider: text.partIssue,
  instance: text.partIssue,
  text: text.pasteIssue,
  file: text.fileIssue,
  url: text.urlIssue,
};

/** Which document, and what its tools are called. */
export const DocumentStep = ({ draft, present, onChange, onFields, onNext }: StepProps): ReactElement => {
  const client = useClient();
  const { fields } = draft;
  const [file, setFile] = useState<File | null>(null);
  const [hasTried, setTried] = useState(false);
  const wrong = faultyFields("document", draft, file !== null && file.size <= MAX_IMPORT_BYTES, present !== undefined);
  const looking = useMutation({
    mutationFn: async () => {
      const { provider, instance, how, url, network } = fields;
      if (how === "url")
        return await lookAt(client, { provider, instance, url: url.trim(), ...(network === "" ? {} : { allow: network.trim() }) });
      return await lookAt(client, { provider, instance, text: how === "file" ? ((await file?.text()) ?? "") : fields.text });
    },
    onSuccess: (looked) => {
      onChange(withLooked(draft, looked));
      onNext();
    },
  });
  const issueOf = (name: string): string | undefined => (hasTried && wrong.includes(name) ? issues[name] : undefined);
  const part = (name: "provider" | "instance", label: string, description: string): ReactElement => (
    <TextInput
      id={name}
      label={label}
      description={description}
      required
      spellCheck={false}
      autoComplete="off"
      maxLength={25}
      value={fields[name]}
      error={issueOf(name)}
      onChange={(event) => onFields({ [name]: event.currentTarget.value } satisfies Partial<ImportFields>)}
    />
  );
  return (
    <StepForm
      issues={wrong.map((field) => ({ field, text: issues[field] ?? field }))}
      hasTried={hasTried}
      onTried={setTried}
      onNext={() => {
        if (!looking.isPending) looking.mutate();
      }}
      submit={
        <ActButton type="submit" isBusy={looking.isPending}>
          {text.look}
        </ActButton>
      }
    >
      <div className="sp-form">
        {part("provider", text.provider, text.providerHint)}
        {part("instance", text.instance, text.instanceHint)}
        {present === undefined ? null : <p role="status">{text.updates(present.name)}</p>}
        <SegmentedControl
          aria-label={text.how}
          value={fields.how}
          data={(["paste", "file", "url"] as const).map((value) => ({ value, label: text.hows[value] }))}
          onChange={(how) => onFields({ how })}
        />
        {fields.how === "paste" ? (
          <Textarea
            id="text"
            className="sp-json"
            label={text.paste}
            description={text.pasteHint}
            required
            rows={12}
            spellCheck={false}
            value={fields.text}
            error={issueOf("text")}
            onChange={(event) => onFields({ text: event.currentTarget.value })}
          />
        ) : null}
        {fields.how === "file" ? (
          <FileInput
            id="file"
            label={text.file}
            description={text.fileHint}
            required
            accept=".json,.yaml,.yml,application/json,application/yaml"
            placeholder={text.fileIssue}
            value={file}
            error={issueOf("file")}
            onChange={setFile}
          />
        ) : null}
        {fields.how === "url" ? (
          <>
            <TextInput
              id="url"
              type="url"
              label={text.url}
              description={text.urlHint}
              required
              value={fields.url}
              error={issueOf("url")}
              onChange={(event) => onFields({ url: event.currentTarget.value })}
            />
            <TextInput
              label={text.network}
              description={text.networkHint}
              value={fields.network}
              onChange={(event) => onFields({ network: event.currentTarget.value })}
            />
          </>
        ) : null}
      </div>
      {looking.isError ? <Failure error={looking.error} /> : null}
    </StepForm>
  );
};

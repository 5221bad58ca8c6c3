import { Button, TextInput } from "@mantine/core";
import { useState, type ReactElement } from "react";
import { rotateSecret } from "#contract/secret-acts.ts";
import { writeSecret } from "#contract/secrets.ts";
import { useClient } from "../../api/client-context.ts";
import type { Client } from "../../api/client.ts";
import { lookAhead, readSecretAt, readUses, type Mount, type ReadSecret } from "../../api/secrets.ts";
import { secretWords } from "../../strings/secrets.ts";
import { visibleText } from "../../strings/format.ts";
import { checkOf, PlannedDialog, type Done, type Plan } from "./planned-dialog.tsx";
import { SecretField } from "./secret-field.tsx";
import { keyUri, mountOf } from "./secret-place.ts";

const text = secretWords.write;

export interface DialogProps {
  readonly mounts: readonly Mount[];
  readonly onDone: (done: Done) => void;
  readonly onClose: () => void;
}

/** Of stores that keep versions the one that is written over, so that nobody's change in between is lost. */
const casOf = (now: ReadSecret, keepsVersions: boolean): number | undefined => {
  if (keepsVersions) return now.detail?.current_version ?? 0;
  return now.content === undefined ? 0 : undefined;
};

const nextLine = ({ detail, content }: ReadSecret, keepsVersions: boolean): string => {
  if (detail !== undefined) return secretWords.plan.next(String(detail.current_version + 1));
  if (content === undefined) return secretWords.plan.isNew;
  return keepsVersions ? secretWords.plan.isThere : secretWords.plan.overwrites;
};

/** Which systems have to do with it, in a sentence. */
export const usedLine = async (client: Client, uri: string, say: (systems: string) => string): Promise<string> => {
  try {
    const systems = await readUses(client, uri);
    return systems.length === 0 ? secretWords.plan.unused : say(systems.map(({ title }) => title).join(", "));
  } catch {
    return secretWords.plan.usesUnknown;
  }
};

interface Row {
  readonly id: number;
  readonly key: string;
  readonly value: string;
}

const PLACE = /^[a-z][a-z0-9+.-]*:\/\/[^\s#?/]+(?:\/[^\s#?/]+)+$/i;
export const isPlace = (uri: string): boolean => PLACE.test(uri);

/** Sets keys of a secret, of one that is there or of a new one. */
export const WriteDialog = ({
  uri: given,
  secretKey = "",
  mounts,
  onDone,
  onClose,
}: DialogProps & { readonly uri: string | undefined; readonly secretKey?: string | undefined }): ReactElement => {
  const client = useClient();
  const first = mounts.find(({ writable }) => writable)?.uri;
  const [typed, setTyped] = useState(first === undefined ? "" : `${first}/`);
  const [rows, setRows] = useState<readonly Row[]>([{ id: 0, key: secretKey, value: "" }]);
  const [plan, setPlan] = useState<Plan>();
  const [isChecked, setChecked] = useState(false);
  const uri = given ?? typed.trim();
  const keys = rows.map(({ key }) => key.trim());
  const hasKeyIssue = (at: number): boolean => keys[at] === "" || (keys[at] ?? "").length > 256 || keys.indexOf(keys[at] ?? "") !== at;
  const isWhole = isPlace(uri) && rows.every(({ value }, at) => !hasKeyIssue(at) && value !== "");
  const value = Object.fromEntries(rows.map((row) => [row.key.trim(), row.value]));
  const change = (next: readonly Row[]): void => {
    setPlan(undefined);
    setRows(next);
  };
  const put = (id: number, more: Partial<Row>): void => change(rows.map((row) => (row.id === id ? { ...row, ...more } : row)));

  const makePlan = async (): Promise<Plan> => {
    const keepsVersions = mountOf(mounts, uri)?.versions === true;
    const now = await readSecretAt(client, uri, keepsVersions);
    const cas = casOf(now, keepsVersions);
    const looked = await lookAhead(client, [{ op: "set", uri, value, cas }]);
    const there = now.content?.keys ?? [];
    const [same, added] = [keys.filter((key) => there.includes(key)), keys.filter((key) => !there.includes(key))];
    const stays = there.filter((key) => !keys.includes(key));
    const lines = [
      nextLine(now, keepsVersions),
      ...(same.length === 0 ? [] : [secretWords.plan.sets(same.join(", "))]),
      ...(added.length === 0 ? [] : [secretWords.plan.adds(added.join(", "))]),
      ...(stays.length === 0 ? [] : [secretWords.plan.stays(stays.join(", "))]),
      ...(same.length === 0 ? [] : [await usedLine(client, uri, secretWords.plan.usedValue)]),
    ];
    return { lines, checks: looked.map((one) => checkOf(one, uri)), cas };
  };

  return (
    <PlannedDialog
      title={text.title}
      sentence={text.sentence}
      verb={secretWords.acts.write}
      plan={plan}
      makePlan={makePlan}
      onPlan={setPlan}
      check={() => {
        setChecked(true);
        return isWhole;
      }}
      act={async () => {
        const written = await client.ask(writeSecret, { body: { uri, value, cas: plan?.cas } });
        return {
          said: written.version === undefined ? text.done(written.uri) : text.doneAs(written.uri, String(written.version)),
          uri: written.uri,
        };
      }}
      onDone={onDone}
      onClose={onClose}
    >
      {given === undefined ? (
        <TextInput
          data-autofocus
          label={text.uri}
          description={text.uriHint}
          required
          value={typed}
          spellCheck={false}
          autoComplete="off"
          error={isChecked && !isPlace(uri) ? text.uriIssue : undefined}
          onChange={(event) => {
            setPlan(undefined);
            setTyped(event.currentTarget.value);
          }}
        />
      ) : (
        <p className="sp-mono">{visibleText(given)}</p>
      )}
      {rows.map((row, at) => (
        <fieldset key={row.id} className="sp-key-row">
          <TextInput
            data-autofocus={given !== undefined && at === 0 ? "" : undefined}
            label={text.key}
            required
            value={row.key}
            spellCheck={false}
            autoComplete="off"
            error={isChecked && hasKeyIssue(at) ? text.keyIssue : undefined}
            onChange={(event) => put(row.id, { key: event.currentTarget.value })}
          />
          <SecretField
            label={text.value}
            value={row.value}
            error={isChecked && row.value === "" ? text.valueIssue : undefined}
            onChange={(next) => put(row.id, { value: next })}
          />
          {rows.length === 1 ? null : (
            <Button variant="default" onClick={() => change(rows.filter(({ id }) => id !== row.id))}>
              {text.drop}
            </Button>
          )}
        </fieldset>
      ))}
      <div>
        <Button variant="default" onClick={() => change([...rows, { id: Math.max(...rows.map(({ id }) => id)) + 1, key: "", value: "" }])}>
          {text.more}
        </Button>
      </div>
    </PlannedDialog>
  );
};

/** Puts a new value in the place of a key's present one. */
export const RotateDialog = ({
  uri,
  secretKey,
  mounts,
  onDone,
  onClose,
}: DialogProps & { readonly uri: string; readonly secretKey: string }): ReactElement => {
  const client = useClient();
  const [value, setValue] = useState("");
  const [isChecked, setChecked] = useState(false);
  const [plan, setPlan] = useState<Plan>();
  const target = keyUri(uri, secretKey);
  const makePlan = async (): Promise<Plan> => {
    const keepsVersions = mountOf(mounts, uri)?.versions === true;
    const now = await readSecretAt(client, uri, keepsVersions);
    const cas = keepsVersions ? casOf(now, true) : undefined;
    const looked = await lookAhead(client, [{ op: "rotate", uri: target, value, cas }]);
    const lines = [nextLine(now, keepsVersions), await usedLine(client, target, secretWords.plan.usedValue)];
    return { lines, checks: looked.map((one) => checkOf(one, target)), cas };
  };
  return (
    <PlannedDialog
      title={secretWords.rotate.title(visibleText(secretKey))}
      sentence={secretWords.rotate.sentence}
      verb={secretWords.acts.rotate}
      plan={plan}
      makePlan={makePlan}
      onPlan={setPlan}
      check={() => {
        setChecked(true);
        return value !== "";
      }}
      act={async () => {
        const { uri: rotated, changed } = await client.ask(rotateSecret, { body: { uri: target, value, cas: plan?.cas } });
        return { said: changed ? secretWords.rotate.done(rotated) : secretWords.rotate.same(rotated), uri };
      }}
      onDone={onDone}
      onClose={onClose}
    >
      <SecretField
        label={secretWords.rotate.value}
        value={value}
        error={isChecked && value === "" ? text.valueIssue : undefined}
        onChange={(next) => {
          setPlan(undefined);
          setValue(next);
        }}
      />
    </PlannedDialog>
  );
};

import { Checkbox, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";
import { copySecret, deleteSecret, destroySecretVersions, moveSecret, undeleteSecret } from "#contract/secret-acts.ts";
import { useClient } from "../../api/client-context.ts";
import type { Client } from "../../api/client.ts";
import { lookAhead, readSecretAt, refusalOf, SECRETS, type Operation } from "../../api/secrets.ts";
import { useStanding } from "../../decisions/use-can.ts";
import { secretWords } from "../../strings/secrets.ts";
import { visibleText } from "../../strings/format.ts";
import { Failure } from "../../ui/failure.tsx";
import { checkOf, PlannedDialog, type Plan, type PlannedDialogProps } from "./planned-dialog.tsx";
import { keyUri, mountOf, pathOf } from "./secret-place.ts";
import { isPlace, usedLine, type DialogProps } from "./write-dialogs.tsx";

const text = secretWords.plan;

/** Copies, or moves, a whole secret to another place. */
export const CarryDialog = ({
  uri,
  isMove,
  mounts,
  onDone,
  onClose,
}: DialogProps & { readonly uri: string; readonly isMove: boolean }): ReactElement => {
  const client = useClient();
  const words = secretWords.carry;
  const [typed, setTyped] = useState(uri);
  const [overwrites, setOverwrites] = useState(false);
  const [isChecked, setChecked] = useState(false);
  const [plan, setPlan] = useState<Plan>();
  const reading = useStanding({ type: "secret", id: uri, action: "read" });
  const endpoint = isMove ? moveSecret : copySecret;
  const to = typed.trim();
  const hasIssue = !isPlace(to) || to === uri;
  const makePlan = async (): Promise<Plan> => {
    const keepsVersions = mountOf(mounts, to)?.versions === true;
    const [there, looked, refusal] = await Promise.all([
      readSecretAt(client, to, keepsVersions),
      lookAhead(client, [{ op: "set", uri: to, value: {} }, ...(isMove ? [{ op: "delete", uri } as const] : [])]),
      refusalOf(client.ask(endpoint, { body: { fromUri: uri, toUri: to, overwrite: overwrites, dry_run: true } })),
    ]);
    const isTaken = there.content !== undefined;
    const isRefused = isTaken && !overwrites;
    const checks: Plan["checks"] = [
      {
        what: "read",
        uri,
        // What could not be decided is not shown as permitted.
        status: reading.can === "denied" || reading.can === "unknown" ? 403 : 200,
        decisionId: reading.decisionId,
        ...(reading.isStepUp ? { code: "step_up_required" } : {}),
      },
      ...looked.map((one): Plan["checks"][number] =>
        one.op === "set" && one.status < 300 && isRefused
          ? { what: "set", uri: to, status: 409, code: "target_exists" }
          : checkOf(one, one.op === "set" ? to : uri),
      ),
    ];
    // What none of these says is told as the act itself would tell it.
    if (refusal !== undefined && checks.every(({ status }) => status < 300)) throw refusal;
    return {
      ...(isTaken && keepsVersions ? { cas: there.detail?.current_version } : {}),
      lines: [
        isMove ? text.moved : text.copied,
        isTaken ? (keepsVersions ? text.next(String((there.detail?.current_version ?? 0) + 1)) : text.overwrites) : text.isNew,
        ...(isTaken && there.content.keys.length > 0 ? [text.replaced(there.content.keys.join(", "))] : []),
        ...(isMove ? [await usedLine(client, uri, text.used)] : []),
      ],
      checks,
    };
  };
  return (
    <PlannedDialog
      title={isMove ? words.moveTitle : words.copyTitle}
      sentence={isMove ? words.moveSentence : words.copySentence}
      verb={isMove ? secretWords.acts.move : secretWords.acts.copy}
      plan={plan}
      makePlan={makePlan}
      onPlan={setPlan}
      check={() => {
        setChecked(true);
        return !hasIssue;
      }}
      act={async () => {
        const { to: target } = await client.ask(endpoint, {
          // What came to the target since the plan was made is not overwritten unseen.
          body: { fromUri: uri, toUri: to, overwrite: overwrites, ...(plan?.cas === undefined ? {} : { cas: plan.cas }) },
        });
        return { said: isMove ? words.moved(uri) : words.copied(target), uri: target };
      }}
      onDone={onDone}
      onClose={onClose}
    >
      <p className="sp-mono">{visibleText(uri)}</p>
      <TextInput
        data-autofocus
        label={words.to}
        description={secretWords.write.uriHint}
        required
        value={typed}
        spellCheck={false}
        autoComplete="off"
        error={isChecked && hasIssue ? words.toIssue : undefined}
        onChange={(event) => {
          setPlan(undefined);
          setTyped(event.currentTarget.value);
        }}
      />
      <Checkbox
        label={words.overwrite}
        checked={overwrites}
        onChange={(event) => {
          setPlan(undefined);
          setOverwrites(event.currentTarget.checked);
        }}
      />
    </PlannedDialog>
  );
};

/** An act for which nothing has to be filled in but what confirms it: its plan is read when it opens. */
const ReadyDialog = ({
  read,
  operation,
  target,
  act,
  ...rest
}: Omit<PlannedDialogProps, "plan" | "act"> & {
  readonly read: (client: Client) => Promise<Omit<Plan, "checks">>;
  readonly operation: Operation;
  readonly target: string;
  /** `pinned`: headers by which it is done to the version that was looked at, and to no later one. */
  readonly act: (pinned: Readonly<Record<string, string>>) => ReturnType<PlannedDialogProps["act"]>;
}): ReactElement => {
  const client = useClient();
  const plan = useQuery({
    queryKey: [SECRETS, "plan", operation],
    queryFn: async (): Promise<Plan> => {
      const [seen, looked] = await Promise.all([read(client), lookAhead(client, [operation])]);
      return { ...seen, checks: looked.map((one) => checkOf(one, target)) };
    },
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  return (
    <PlannedDialog
      {...rest}
      plan={plan.data}
      planTakesFocus={rest.children === undefined}
      // What was looked at is there no more: it is looked at again before the next try.
      onPlan={() => void plan.refetch()}
      act={() => act(plan.data?.cas === undefined ? {} : { "if-match": `"${plan.data.cas}"` })}
    >
      {rest.children}
      {plan.isError ? <Failure error={plan.error} onRetry={() => void plan.refetch()} /> : null}
    </PlannedDialog>
  );
};

/** Deletes a secret or a key of it, so that it can be restored where versions are kept. */
export const RemoveDialog = ({
  uri,
  secretKey,
  mounts,
  onDone,
  onClose,
}: DialogProps & { readonly uri: string; readonly secretKey?: string }): ReactElement => {
  const client = useClient();
  const words = secretWords.remove;
  const target = secretKey === undefined ? uri : keyUri(uri, secretKey);
  const keepsVersions = mountOf(mounts, uri)?.versions === true;
  const read = async (): Promise<Omit<Plan, "checks">> => {
    const { content, detail } = await readSecretAt(client, uri, keepsVersions);
    const next = String((detail?.current_version ?? 0) + 1);
    const isLastKey = content?.keys.length === 1;
    const lines = [
      !keepsVersions
        ? text.forGood
        : secretKey === undefined || isLastKey
          ? text.softly(String(detail?.current_version ?? 0))
          : text.keySoftly(next),
      ...(secretKey === undefined && content !== undefined && content.keys.length > 0 ? [text.lost(content.keys.join(", "))] : []),
      ...(secretKey === undefined && content !== undefined && content.nodes.length > 0 ? [text.lostNodes(content.nodes.join(", "))] : []),
      await usedLine(client, target, text.used),
    ];
    return { lines, cas: detail?.current_version };
  };
  return (
    <ReadyDialog
      title={secretKey === undefined ? words.title : words.keyTitle(visibleText(secretKey))}
      sentence={words.sentence}
      verb={secretKey === undefined ? secretWords.acts.delete : secretWords.acts.remove}
      isDangerous
      read={read}
      operation={{ op: "delete", uri: target }}
      target={target}
      act={async (headers) => {
        const { uri: gone, result } = await client.ask(deleteSecret, { query: { uri: target }, headers });
        return { said: result === "unchanged" ? text.notDone : words.done(gone), uri };
      }}
      onDone={onDone}
      onClose={onClose}
    />
  );
};

/** Ends a version, or all of them, for good: the path is typed first. */
export const DestroyDialog = ({
  uri,
  version,
  onDone,
  onClose,
}: DialogProps & { readonly uri: string; readonly version: number | undefined }): ReactElement => {
  const client = useClient();
  const words = secretWords.destroy;
  const [typed, setTyped] = useState("");
  return (
    <ReadyDialog
      title={version === undefined ? words.title : words.versionTitle(String(version))}
      sentence={words.sentence}
      verb={secretWords.acts.destroy}
      isDangerous
      isReady={typed === pathOf(uri)}
      read={async () => {
        if (version !== undefined) return { lines: [text.oneVersion(String(version))] };
        const [{ detail }, used] = await Promise.all([readSecretAt(client, uri, true), usedLine(client, uri, text.used)]);
        const left = detail?.versions.filter(({ destroyed }) => !destroyed).length ?? 0;
        return { lines: [text.allVersions(left), used], cas: detail?.current_version };
      }}
      operation={{ op: "destroy", uri, ...(version === undefined ? {} : { versions: [version] }) }}
      target={uri}
      act={async (headers) => {
        const isDone =
          version === undefined
            ? (await client.ask(deleteSecret, { query: { uri, destroy: "true" }, headers })).result !== "unchanged"
            : (await client.ask(destroySecretVersions, { body: { uri, versions: [version] } })).versions.some(({ changed }) => changed);
        const done = words.done(version === undefined ? uri : `${secretWords.version.number} ${version}`);
        return { said: isDone ? done : text.notDone, uri };
      }}
      onDone={onDone}
      onClose={onClose}
    >
      <TextInput
        data-autofocus
        label={words.confirm}
        description={<span className="sp-mono">{visibleText(pathOf(uri))}</span>}
        value={typed}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
    </ReadyDialog>
  );
};

export const RestoreDialog = ({
  uri,
  version,
  onDone,
  onClose,
}: DialogProps & { readonly uri: string; readonly version: number }): ReactElement => {
  const client = useClient();
  const words = secretWords.restore;
  return (
    <ReadyDialog
      title={words.title(String(version))}
      sentence={words.sentence}
      verb={secretWords.acts.restore}
      read={async () => ({ lines: [text.comesBack(String(version))] })}
      operation={{ op: "undelete", uri, versions: [version] }}
      target={uri}
      act={async () => {
        const { versions } = await client.ask(undeleteSecret, { body: { uri, versions: [version] } });
        return { said: versions.some(({ changed }) => changed) ? words.done(String(version)) : text.notDone, uri };
      }}
      onDone={onDone}
      onClose={onClose}
    />
  );
};

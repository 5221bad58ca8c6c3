import type { Explanation } from "#contract/routes.ts";

const place = (at: { readonly file?: string | undefined; readonly line?: number | undefined }): string =>
  at.file === undefined ? "" : ` (${at.file}:${at.line ?? 1})`;

const answerText = ({ answer }: Explanation): string => {
  const { outcome, status, code } = answer;
  if (outcome === "forwarded") return `forwarded to ${String(answer["to"])}; the status is the upstream's`;
  if (outcome === "handled") return "handled by the gateway itself";
  const reason = typeof answer["reason"] === "string" ? answer["reason"] : undefined;
  return [outcome, status, code, reason].filter((part) => part !== undefined).join(" ");
};

/** Without a canonical form the request went no further than the check that would make it. */
const noForm = ({ steps, answer }: Explanation): string => {
  if (answer.code === "ambiguous_target") return "none: the target has more than one reading";
  return `not looked for: refused before, at ${steps.at(-1)?.step ?? "the frame"}`;
};

/** An explanation as a person reads it, one fact a line. */
export const explanationText = (method: string, target: string, explained: Explanation): string => {
  const { canonical, row, mapping, authzen_request: asked, upstream, answer } = explained;
  const facts: (readonly [string, string | undefined])[] = [
    ["request", `${method} ${target}`],
    ["table", explained.revision],
    ["canonical", canonical === undefined ? noForm(explained) : `${canonical.path}${canonical.query}`],
    [
      "row",
      row === undefined
        ? "none"
        : `${row.id}  ${row.path}${row.auth !== undefined ? `  auth ${row.auth}, authz ${row.authz}` : ""}${place(row)}`,
    ],
    ...explained.candidates.filter(({ chosen }) => !chosen).map(({ id, path, why }) => ["not", `${id}  ${path}: ${why}`] as const),
    ...Object.entries(explained.captures).map(([name, value]) => ["capture", `{${name}} = ${value}`] as const),
    ["mapping", mapping === undefined ? undefined : `${mapping.resource}/${mapping.action} from ${mapping.source}${place(mapping)}`],
    ["question", asked === undefined ? undefined : JSON.stringify(asked)],
    ...explained.steps.map(
      ({ step, result, detail }) => ["step", `${step.padEnd(14)} ${result}${detail === undefined ? "" : `: ${detail}`}`] as const,
    ),
    ["upstream", upstream === undefined ? undefined : `${upstream.service} ${upstream.path}, Authorization: ${upstream.credential}`],
    ["answer", answerText(explained)],
    ["", typeof answer["detail"] === "string" ? answer["detail"] : undefined],
    ...(answer.errors ?? []).map(({ path, message }) => ["", `${path}: ${message}`] as const),
  ];
  return facts.flatMap(([name, text]) => (text === undefined ? [] : [`${name.padEnd(10)} ${text}\n`])).join("");
};

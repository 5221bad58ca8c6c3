import type { Caller } from "#authn/model/caller.ts";
import type { EvaluationQuery } from "#pdp-client/pdp-client.ts";
import type { AskMapping } from "#crud/model/mapped-call.ts";
import { requireKnownPair } from "./authz-mapping.ts";
import { ABSENT, celInputs, type CelInputs } from "#parsing/cel.ts";
import { guardMapping, mappingIssue as issue } from "./guard-mapping.ts";
import type { AuthzenMapping } from "./operation-members.ts";
import { compileAt, compileTexts, type Template, type TemplateError } from "./template.ts";

type Path = readonly (string | number)[];

/** Text after a `$` is CEL; `$$` begins text that begins with a dollar sign. */
const compileText = (value: string, path: Path, tell: TemplateError): Template => {
  if (!value.startsWith("$") || value.startsWith("$$")) return () => (value.startsWith("$$") ? value.slice(1) : value);
  const expression = compileAt(value.slice(1), "mapping", path, tell);
  return (inputs) => {
    const found = expression?.evaluate(inputs);
    if (found === ABSENT || found === undefined) throw issue("An expression reads what the call does not have.");
    return found;
  };
};

const compileValue = (value: unknown, path: Path, tell: TemplateError): Template =>
  compileTexts(value, path, (text, at) => compileText(text, at, tell));

/** Claims of the token as a mapping may read them: who and how, never the token. */
const tokenOf = (caller: Caller): Readonly<Record<string, unknown>> => ({
  sub: caller.sub,
  tenant: caller.tenant,
  scope: [...caller.scopes].sort().join(" "),
  amr: [...caller.amr],
  ...(caller.clientId === undefined ? {} : { client_id: caller.clientId }),
  ...(caller.acr === undefined ? {} : { acr: caller.acr }),
  ...(caller.authTime === undefined ? {} : { auth_time: caller.authTime }),
  ...(caller.agent === undefined ? {} : { act: { sub: caller.agent } }),
});

interface Item {
  readonly action: { readonly name: string; readonly properties?: Readonly<Record<string, unknown>> | undefined };
  readonly resource: {
    readonly type: string;
    readonly id?: string | undefined;
    readonly properties?: Readonly<Record<string, unknown>> | undefined;
  };
  readonly context?: Readonly<Record<string, unknown>> | undefined;
}

const compileItem = (item: Item, path: Path, tell: TemplateError): ((inputs: CelInputs) => EvaluationQuery) => {
  const { action, resource, context } = item;
  if (resource.type.startsWith("$") || action.name.startsWith("$")) tell(path, "type and name are words, so that they can be checked");
  else requireKnownPair(resource.type, action.name, path, tell);
  const id = resource.id === undefined ? undefined : compileValue(resource.id, [...path, "resource", "id"], tell);
  // Values of the call are claims, wherever they stand: no permit may rest on them.
  const claims = [
    compileValue(context ?? {}, [...path, "context"], tell),
    compileValue(action.properties ?? {}, [...path, "action", "properties"], tell),
    compileValue(resource.properties ?? {}, [...path, "resource", "properties"], tell),
  ];
  return (inputs) => {
    const named = id?.(inputs);
    if (id !== undefined && typeof named !== "string") throw issue("The id of the resource is no text.");
    const claimed = Object.assign({}, ...claims.map((claim) => claim(inputs))) as Readonly<Record<string, unknown>>;
    return {
      type: resource.type,
      action: action.name,
      ...(typeof named === "string" ? { id: named } : {}),
      ...(Object.keys(claimed).length === 0 ? {} : { claimed }),
    };
  };
};

/**
 * A mapping as AuthZEN's profile for MCP declares it: `evaluation` or `evaluations`, CEL after `$` over `params` and `token`.
 * It adds to the decision on the call, never replaces it. Issues of the file are told; at a call `mapping_error` is thrown
 * for a subject other than the token's, an absent value, a failing expression, or a result over 16 KiB.
 */
export const compileAuthzenMapping = (mapping: AuthzenMapping, path: Path, tell: TemplateError): AskMapping => {
  const isSingle = "evaluation" in mapping;
  const items: readonly Item[] = isSingle ? [mapping.evaluation] : mapping.evaluations;
  const declared = isSingle ? mapping.evaluation.subject : mapping.subject;
  const subject = declared === undefined ? undefined : compileValue(declared.id, [...path, "subject", "id"], tell);
  const compiled = items.map((item, index) =>
    compileItem(item, isSingle ? [...path, "evaluation"] : [...path, "evaluations", index], tell),
  );
  return {
    pairs: items.map(({ resource, action }) => `${resource.type}/${action.name}`),
    asks: guardMapping(({ toolName, arguments: given, caller }) => {
      const inputs = celInputs({ params: { name: toolName, arguments: given }, token: tokenOf(caller) });
      if (subject !== undefined && subject(inputs) !== caller.sub) throw issue("The subject is another one than the token's.");
      return compiled.map((item) => item(inputs));
    }),
  };
};

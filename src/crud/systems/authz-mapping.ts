import { pairOf } from "#pdp-client/pairs.ts";
import type { AskMapping } from "#crud/model/mapped-call.ts";
import { ABSENT, celInputs } from "#parsing/cel.ts";
import { inputsOf } from "./expression.ts";
import { guardMapping, mappingIssue } from "./guard-mapping.ts";
import { compileTemplate, type TemplateError } from "./template.ts";

type Path = readonly (string | number)[];

/** A pair that nobody decides would make every call a denial: it is an issue of the file. */
export const requireKnownPair = (type: string, action: string, path: Path, tell: TemplateError): void => {
  if (pairOf(type, action) === undefined) tell(path, `${type}/${action} is no pair that is decided`);
};

/**
 * The short form: `authz: {resource, action, id?, properties?}` with `${ ... }` over the call's input. At a call it throws
 * `mapping_error`, as the declared form does.
 */
export const compileAuthz = (
  authz: {
    readonly resource: string;
    readonly action: string;
    readonly id?: string | undefined;
    readonly properties?: Readonly<Record<string, unknown>> | undefined;
  },
  path: Path,
  tell: TemplateError,
): AskMapping => {
  requireKnownPair(authz.resource, authz.action, path, tell);
  const id = authz.id === undefined ? undefined : compileTemplate(authz.id, "call", [...path, "id"], tell);
  const properties = authz.properties === undefined ? undefined : compileTemplate(authz.properties, "call", [...path, "properties"], tell);
  return {
    pairs: [`${authz.resource}/${authz.action}`],
    asks: guardMapping((call) => {
      const prepared = celInputs(inputsOf(call));
      const named = id?.(prepared);
      if (named === ABSENT || (named !== undefined && typeof named !== "string")) throw mappingIssue("The id of the resource is no text.");
      const claimed = properties?.(prepared);
      return [
        {
          type: authz.resource,
          action: authz.action,
          id: named,
          // Values of the call's arguments are claims: no permit may rest on them.
          ...(claimed === undefined ? {} : { claimed: claimed as Readonly<Record<string, unknown>> }),
        },
      ];
    }),
  };
};

import { toErrorSchema, type ValidatorType } from "@rjsf/utils";
import { issuesOf } from "./form-issues.ts";
import type { Data, Schema } from "./schema-places.ts";

/**
 * What rjsf asks for to choose among alternatives. It stands in the place of the validator that would compile schemas to code
 * (vite.config.ts); forms check their data themselves.
 */
const validator: ValidatorType = {
  isValid: (schema: Schema, data: unknown, root: Schema) => {
    if (data === undefined) return false;
    const { $defs, definitions } = root;
    return (
      issuesOf(
        { ...($defs === undefined ? {} : { $defs }), ...(definitions === undefined ? {} : { definitions }), ...schema },
        data as Data,
      ).length === 0
    );
  },
  validateFormData: () => ({ errors: [], errorSchema: toErrorSchema([]) }),
  rawValidation: () => ({ errors: [] }),
};

export default validator;

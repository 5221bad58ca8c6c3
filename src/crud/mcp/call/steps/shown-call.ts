import { MAX_SHOWN_BYTES, type ShownCall } from "#contract/access-requests.ts";
import { usdFromMicro } from "#contract/ids.ts";
import { maskValues } from "#contract/masked-values.ts";
import { canonicalText } from "#crud/model/digest.ts";
import type { Tool } from "#crud/tools/tool.ts";
import type { Arguments } from "./validate-arguments.ts";
import { placeInSchema } from "#crud/tools/schema-place.ts";

/**
 * A call as a second person may see it who is asked to approve it: made of the very arguments that are decided and sent, without
 * what the tool's schema or their names and looks say is secret. `undefined`: too large to be read, so nobody is asked.
 */
export const showCall = (tool: Tool, given: Arguments): ShownCall | undefined => {
  const { value, masked } = maskValues(given.value, placeInSchema(tool.definition.inputSchema));
  const { title } = tool.definition;
  const call: ShownCall = {
    tool: { name: tool.name, title },
    cost_usd: usdFromMicro(tool.rules.reserveMicro),
    arguments: value,
    masked: [...masked],
  };
  return Buffer.byteLength(canonicalText(call)) <= MAX_SHOWN_BYTES ? call : undefined;
};

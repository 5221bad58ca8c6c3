import type { Notice } from "#events/model/notice.ts";
import type { RequestRow } from "#pdp/records/request-store.ts";
import { actOf } from "#pdp/explain/sentence.ts";

/** For those who may answer. A tool is named, for it is no data; of other things their type alone. */
export const requestNotice = (row: RequestRow, recipients: readonly string[]): Notice => {
  const { action, resource_type: type, resource_id: id } = row;
  const title = actOf({ action, type, ...(type === "tool" && id !== null ? { id } : {}) });
  return {
    kind: row.definition === null ? "access_request" : "tool_approval",
    id: row.id,
    tenant: row.tenant,
    title: `${title.charAt(0).toUpperCase()}${title.slice(1)}`,
    from: row.requester,
    href: `/requests/${row.id}`,
    recipients,
  };
};

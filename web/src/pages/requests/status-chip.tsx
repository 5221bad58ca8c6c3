import type { ReactElement } from "react";
import type { AccessRequestReply, AccessRequestStatus } from "#contract/access-requests.ts";
import { requestWords } from "../../strings/requests.ts";
import { Chip } from "../../ui/chip.tsx";

const looks = {
  pending: { tone: "stepup", icon: "clock" },
  approved: { tone: "allow", icon: "check" },
  denied: { tone: "deny", icon: "cross" },
  expired: { tone: "quiet", icon: "clock" },
  cancelled: { tone: "quiet", icon: "cross" },
  failed: { tone: "deny", icon: "warning" },
} as const;

export const RequestStatusChip = ({ status }: { readonly status: AccessRequestStatus }): ReactElement => (
  <Chip {...looks[status]} text={requestWords.statuses[status]} />
);

const approvalLooks = {
  live: { tone: "allow", icon: "check" },
  used: { tone: "quiet", icon: "check" },
  expired: { tone: "quiet", icon: "clock" },
  voided: { tone: "deny", icon: "cross" },
} as const;

export const ApprovalChip = ({
  state,
}: {
  readonly state: NonNullable<AccessRequestReply["result"]>["approval"]["state"];
}): ReactElement => <Chip {...approvalLooks[state]} text={requestWords.approvalStates[state]} />;

import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { RequestById } from "../requests/request-page.tsx";

const route = getRouteApi("/approvals/$id");

/** One access request or approval of a tool call, with the arguments that it is bound to: for who is asked. */
export const ApprovalPage = (): ReactElement => <RequestById id={route.useParams().id} />;

import { pages, type PagePath, type PageRow } from "#contract/screens.ts";

/** An address for each path with a name in it: something of the demo, or where the demo has none, something that is not there. */
const samples: Readonly<Record<Extract<PagePath, `${string}{${string}`>, string>> = {
  "/tools/{name}": "/tools/people.demo.update_salary",
  "/delegations/{id}": "/delegations/delegation:ben-hr",
  "/why/{decisionId}": "/why/d_00000000000000000000000000",
  "/requests/{id}": "/requests/ar_00000000000000000000000000",
  "/tasks/{id}": "/tasks/task_00000000000000000000000000",
  "/approvals/{id}": "/approvals/ar_00000000000000000000000000",
  "/workflows/{name}": "/workflows/offboard",
  "/workflows/runs/{id}": "/workflows/runs/run_00000000000000000000000000",
  "/systems/{name}": "/systems/people.demo",
  "/policies/{id}": "/policies/page-granted",
  "/policies/versions/{version}": "/policies/versions/1",
};

/** Every page of the web client, with an address to open it by. */
export const pageAddresses: readonly (Pick<PageRow, "screen"> & { readonly path: string; readonly address: string })[] =
  Object.entries<PageRow>(pages).map(([path, { screen }]) => ({
    path,
    screen,
    address: path in samples ? samples[path as keyof typeof samples] : path,
  }));

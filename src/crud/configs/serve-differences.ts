import { configKinds, configObjectKinds, MAX_DIFFERENCES, type ConfigObjectKind } from "#contract/configs.ts";
import { Problem } from "#contract/problem.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { Router } from "#http/serve.ts";
import { documentChanges, type DocumentChange } from "./document-changes.ts";
import { nameIn } from "./config-kind.ts";
import type { ConfigPublisher } from "./publish-config.ts";

/** How two versions of an object differ, part by part. */
export const serveDifferences = (router: Router<Caller>, publisher: ConfigPublisher): void => {
  const { store, requireObject } = publisher;
  const compare = async (
    kind: ConfigObjectKind,
    name: string,
    tenant: string,
    { from, to }: { readonly from: number; readonly to: number },
  ) => {
    const [one, other] = await Promise.all([from, to].map((number) => store.version(kind, name, number, tenant)));
    if (one === undefined || other === undefined) throw new Problem("version_not_found");
    const [before, after] = await Promise.all(
      [one, other].map(async ({ text, version }) => {
        const read = await store.kinds[kind].read(text, `${name}@${version}`, { tenant });
        if ("issues" in read) throw new Problem("unprocessable", { errors: read.issues });
        return read.yaml.value;
      }),
    );
    const changes: DocumentChange[] = [];
    let isCut = false;
    for (const change of documentChanges(before, after)) {
      isCut = changes.length === MAX_DIFFERENCES;
      if (isCut) break;
      changes.push(change);
    }
    const files = [...new Set([...Object.keys(one.refs), ...Object.keys(other.refs)])].filter(
      (path) => one.refs[path] !== other.refs[path],
    );
    return { from, to, changes, files_changed: files, truncated: isCut };
  };
  for (const kind of configObjectKinds) {
    const row = configKinds[kind];
    router.serve(row.endpoints.diff, async (call) => {
      const name = nameIn(call.params, kind);
      await requireObject(call, "view", kind, name);
      return compare(kind, name, call.caller.tenant, call.query);
    });
    if (!("served" in row) || row.served === undefined || row.servedEndpoints === undefined) continue;
    const [type = "", action = ""] = row.served.view.split("/");
    router.serve(row.servedEndpoints.diff, async ({ caller, params, query, correlationId }) => {
      const name = nameIn(params, kind);
      await publisher.pdpClient.require(caller, { type, action, id: name }, correlationId);
      return compare(kind, name, caller.tenant, query);
    });
  }
};

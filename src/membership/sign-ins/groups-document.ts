import { z } from "zod";
import { StartIssues } from "#contract/start-issues.ts";
import { nodeId } from "#contract/ids.ts";
import { recordOf } from "#contract/json-members.ts";
import { readConfigFiles } from "#parsing/config-files.ts";

const document = z.strictObject({
  apiVersion: z.literal("groups/v1"),
  /** Value of the groups claim -> the groups that it stands for, one in each tenant at most that knows it. */
  groups: recordOf(z.string().min(1).max(256), z.union([nodeId, z.array(nodeId).min(1).max(100)])).default({}),
});

/** What the values of the groups claim stand for: `groups.yaml` of each folder. Throws `StartIssues` with every issue. */
export const loadGroupsDocument = async (folders: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> => {
  const { files, issues } = await readConfigFiles(folders, "groups.yaml", document);
  if (issues.length > 0) throw new StartIssues(issues);
  const read = new Map<string, readonly string[]>();
  for (const { value } of files)
    for (const [claim, ids] of Object.entries(value.groups)) read.set(claim, [...(read.get(claim) ?? []), ...[ids].flat()]);
  return read;
};

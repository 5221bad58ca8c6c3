import { describeReplicas } from "./replicas-suite.ts";

describeReplicas("PostgreSQL", async () => ({
  settings: {},
  reason: "session_store",
  lose: ({ database }) => database.cut(),
  giveBack: ({ database }) => database.mend(),
}));

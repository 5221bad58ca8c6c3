import { describeReplicas } from "./replicas-suite.ts";

describeReplicas("PostgreSQL", async () => ({
  settings: {},
  reason: "session_store",
  lose: ({ database }) => database.cut(),
  giveBack: ({ database }) => database.mend(),
  freeze: ({ database }) => database.freeze(),
  thaw: ({ database }) => database.thaw(),
  // Asked every 2 s whether it is there, which it may take 2 s to answer, as it may a session's question.
  silenceMs: 6000,
}));

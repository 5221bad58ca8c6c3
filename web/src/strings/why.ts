/** What the page of one decision says beside the words it shares with the list. */
export const whyWords = {
  replayTitle: "Replay",
  replayLead: "The same question on the facts it had then, decided again. Nothing is written and nothing is opened by it.",
  replayGo: "Replay now",
  version: "By version",
  versionPlaceholder: "the one that decides",
  versionFault: "A version such as v3, or v3+1a2b3c4d5e6f.",
  before: "Then",
  now: "Now",
  unchanged: "It would be decided the same.",
  changed: (parts: string) => `It would be decided otherwise: ${parts}.`,
  parts: { decision: "the verdict", reason: "the reason", obligations: "the conditions", policies: "the policies that decide" },
} as const;

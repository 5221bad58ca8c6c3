/** What pages say of kill switches: of a tool, and of a whole system. */
export const switchWords = {
  off: "Switched off",
  offBy: (by: string, scope: string, reason: string) => `${by} switched ${scope} off: ${reason}`,
  until: (moment: string) => `until ${moment}`,
  untilLifted: "until it is switched on again",
  switchOff: "Switch off",
  switchOn: "Switch on again",
  offTitle: (scope: string) => `Switch ${scope} off?`,
  onTitle: (scope: string) => `Switch ${scope} on again?`,
  onSentence: "Whoever may call it calls it again.",
  switchedOff: "It is switched off.",
  switchedOn: "It is switched on again.",
  sentences: {
    tool: "Within a second nobody in your organisation calls it any more, on every node; calls that run are cancelled.",
    system:
      "Within a second nobody in your organisation calls any of its tools any more, on every node; calls that run are cancelled. Its document stays as it is.",
  },
} as const;

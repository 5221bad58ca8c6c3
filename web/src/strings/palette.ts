/** What the palette and the keyboard help say; apart from the others, so that they load with them. */
export const paletteWords = {
  title: "Search or run a command",
  label: "Screen, tool, system, workflow, delegation, id or command",
  nothing: "No matches",
  openId: (id: string) => `Open ${id}`,
  kinds: {
    screen: "Screens",
    tool: "Tools",
    system: "Systems",
    workflow: "Workflows",
    run: "Runs",
    task: "Tasks",
    delegation: "Delegations",
    decision: "Decisions",
    command: "Commands",
  },
  delegationTo: (purpose: string, agent: string) => `${purpose}, to ${agent}`,
  revoke: (purpose: string) => `Revoke ${purpose}`,
  showsFirst: "shows what ends first",
  keys: "\u2191\u2193 move, Enter open",
  paste: "Paste any id to open it",
  grant: "Delegate to an agent",
  start: (workflow: string) => `Start ${workflow}`,
  fillsIn: "opens its form",
  themeLight: "Use the light theme",
  themeDark: "Use the dark theme",
  themeSystem: "Use the system's theme",
} as const;

export const helpWords = {
  title: "Keyboard",
  single: "Single-letter keys",
  singleHint: "Switch them off if you use speech input.",
  /** Of every page, and of what stands on one; `g` and a letter lead to the screens. */
  everywhere: [
    ["mod+K", "Search or run a command"],
    ["?", "This help"],
    ["/", "Jump to the filter"],
  ],
  onPage: [
    ["j  k", "Next and previous row"],
    ["Enter", "Open the row"],
    ["c", "Copy a link to this page"],
    ["mod+Enter", "Send the form"],
    ["Esc", "One step back"],
  ],
} as const;

import type { Person, SignIns } from "#issuer/sign-ins.ts";

/** Whose token the banner shows how to get. */
export const demoAgent = "agent:hr-assistant";

/** Everybody's password in the demo world. */
export const demoPassword = "sallyport";

/** One-time codes of the demo persons: put it into any authenticator app. Base32, 160 bits, SHA-1, 6 digits, 30 s. */
export const demoTotpSecret = "J6GLP7RMJJO3Z74KBQQUHAHY5RVKSRDL";

const person = (login: string, name: string, role: string, tenant: string, passwordHash: string): Person => ({
  sub: `person:${login}`,
  login,
  name,
  role,
  tenant,
  passwordHash,
  totpSecret: demoTotpSecret,
});

/** The persons, agents and service clients of the demo world. Hashes of `demoPassword`, each with a salt of its own. */
export const demoSignIns: SignIns = {
  passwordHint: demoPassword,
  persons: [
    person(
      "ada",
      "Ada Admin",
      "platform administrator, Acme",
      "tenant:acme",
      "scrypt:15:nXpko8GICQkWCOzle1FpYg:HBs13CTHEHOfw6F7b4pBSo8R1WPSfa0VSqf5p0kul14",
    ),
    person(
      "ben",
      "Ben Baker",
      "HR manager, Acme",
      "tenant:acme",
      "scrypt:15:CBWfVcuOcnBm2dO7BsjR5Q:fu7axBgJ_UtvqLFddWJPWO8smZCPyeR3BSeZ5GqWlGs",
    ),
    person(
      "cleo",
      "Cleo Chen",
      "analyst, Acme",
      "tenant:acme",
      "scrypt:15:eZEDNnETyyur2QKL6d_hww:z_Mi2ScNH0zPbgebTtr5nmXm3zVsXjKDPBWPaqO3dhI",
    ),
    person(
      "dan",
      "Dan Diaz",
      "contractor, Acme: sees the home page only",
      "tenant:acme",
      "scrypt:15:2uBMCQWA7bG-DQIHzZTMkg:ZUK15Erv9QRrx-Mij6aWeqUaUtyAaAXDQYTddbR-cU4",
    ),
    person(
      "eve",
      "Eve Evans",
      "staff, Globex",
      "tenant:globex",
      "scrypt:15:Dm5VALIrkRA5_RkAtlHzYA:el8Ib6B9TGv8kqvFpdEaGZJ7IC26nDUiuZKVMyUZbrI",
    ),
  ],
  agents: [
    { clientId: "agent:hr-assistant", agent: "agent:hr-assistant", name: "HR assistant" },
    { clientId: "agent:reporter", agent: "agent:reporter", name: "Reporter" },
  ],
  services: [
    { clientId: "service:pep", name: "Demo enforcement point", scopes: ["authzen.pep", "authzen.search", "metrics.read"] },
    { clientId: "service:operator", name: "Demo operator of the house", scopes: ["outbox.manage"] },
    { clientId: "service:pip", name: "Demo reader of facts", scopes: ["pip.read"] },
  ],
};

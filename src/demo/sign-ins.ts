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

/** The persons, agents and service clients of the demo world. Hashes of `demoPassword`, each with a salt of its own, and cheap: it is no secret. */
export const demoSignIns: SignIns = {
  passwordHint: demoPassword,
  persons: [
    person(
      "ada",
      "Ada Admin",
      "platform administrator, Acme",
      "tenant:acme",
      "scrypt:10:nXpko8GICQkWCOzle1FpYg:0UKYiu7cJ7vYsSzCd7SOCcaAExq4fRo9x90BVSGFR8U",
    ),
    person(
      "ben",
      "Ben Baker",
      "HR manager, Acme",
      "tenant:acme",
      "scrypt:10:CBWfVcuOcnBm2dO7BsjR5Q:nh9wQUQbze5Pi1_MVWqDMqq9mcFYt9-mcG-r5K77KWA",
    ),
    person(
      "cleo",
      "Cleo Chen",
      "analyst, Acme",
      "tenant:acme",
      "scrypt:10:eZEDNnETyyur2QKL6d_hww:HcI55eX-KDTbyceel9Q_nmf4mkyznfKbXqKxvEIGeT4",
    ),
    person(
      "dan",
      "Dan Diaz",
      "contractor, Acme: sees the home page only",
      "tenant:acme",
      "scrypt:10:2uBMCQWA7bG-DQIHzZTMkg:5U47kYTKF5QOe3zWvNtqY-AeFDSDIGjPk4XwCWQABGo",
    ),
    person(
      "eve",
      "Eve Evans",
      "staff, Globex",
      "tenant:globex",
      "scrypt:10:Dm5VALIrkRA5_RkAtlHzYA:S_bs3LNuLJd6HeLIf_fmgn5xTxai06dx1bMEI2tJdAg",
    ),
  ],
  agents: [
    { clientId: "agent:hr-assistant", agent: "agent:hr-assistant", name: "HR assistant" },
    { clientId: "agent:reporter", agent: "agent:reporter", name: "Reporter" },
  ],
  services: [
    { clientId: "service:pep", name: "Demo enforcement point", scopes: ["authzen.pep", "authzen.search", "metrics.read"] },
    { clientId: "service:operator", name: "Demo operator of Sallyport", scopes: ["outbox.manage"] },
    { clientId: "service:pip", name: "Demo reader of facts", scopes: ["pip.read"] },
  ],
};

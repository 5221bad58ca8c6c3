// `npm run admin -- first`: makes the first administrator of an empty instance.
import { randomUUID } from "node:crypto";
import { userInfo } from "node:os";
import { parseArgs } from "node:util";
import { settingTables } from "#app/model/settings.ts";
import { migratedModules } from "#app/store/store.ts";
import { readSettings } from "#contract/setting.ts";
import { seedBuiltIns } from "#membership/seed/built-in-nodes.ts";
import { appointFirst, otherIssuer, readFirstAdministrator } from "#membership/sign-ins/first-administrator.ts";
import { migrate } from "#store/migrate.ts";
import { openDatabase } from "./open-database.ts";
import { Refusal } from "./refusal.ts";
import { refused, USAGE, runOnDatabase, writeAlone } from "./on-database.ts";

const help = `npm run admin -- first --issuer URL --subject SUB --tenant NAME [--name NAME] [--again] [--data DIR]

Makes the first administrator of an instance that has no tenant yet: the tenant, a person with an account, the link of the person to who signs in
at the OpenID provider, and the roles administrator and platform. It is done once; afterwards administrators do everything themselves.

  --issuer URL    the provider's address, as it names itself: OIDC_ISSUER, character by character, with which it is compared where that is set
  --subject SUB   who it is there: the value of the claim OIDC_SUBJECT_CLAIM. Whoever signs in unknown is shown it
  --tenant NAME   of the tenant, 1 to 64 of a-z 0-9 -
  --name NAME     of the person; default: the subject
  --again         puts this one in the place of the first administrator who was named wrongly: while that one has never signed in, and nobody
                  else is administrator
  --data DIR      data folder of Sallyport, default .sallyport; made if it is not there

The database is DATABASE_URL where it is set, else the data folder, whose instance has to be stopped first. Nobody's right is asked: whoever may
open the database may do this.
`;

const readArguments = () => {
  try {
    const text = { type: "string" } as const;
    return parseArgs({
      allowPositionals: true,
      options: {
        issuer: text,
        subject: text,
        tenant: text,
        name: text,
        again: { type: "boolean" },
        data: { type: "string", default: ".sallyport" },
        help: { type: "boolean", short: "h" },
      },
    });
  } catch (error) {
    throw new Refusal(USAGE, `${(error as Error).message}\n\n${help}`);
  }
};

await runOnDatabase(async () => {
  const { values, positionals } = readArguments();
  const { help: isAsked, data, name, again, ...given } = values;
  if (isAsked === true) return void process.stderr.write(help);
  if (positionals.length !== 1 || positionals[0] !== "first") throw new Refusal(USAGE, help);
  const read = readFirstAdministrator(given);
  if ("issues" in read) throw new Refusal(USAGE, read.issues.map(({ path, message }) => `--${path} ${message}`).join("\n"));
  const { oidcSystem: system, oidcIssuer } = readSettings(settingTables.authn, process.env).values;
  const other = otherIssuer(read.first.issuer, oidcIssuer);
  if (other !== undefined) throw new Refusal(USAGE, `--issuer ${other}`);
  await using database = await openDatabase(data, { isMade: true });
  // Sallyport may never have been started on it.
  await migrate(database, migratedModules);
  const write = writeAlone(database);
  await seedBuiltIns(write);
  const by = {
    actor: `operator:${userInfo().username}`,
    source: "api",
    correlationId: `admin-${randomUUID()}`,
    system,
    name,
    again,
  } as const;
  const done = await appointFirst(write, read.first, by);
  if ("refused" in done)
    throw refused(
      done.mayTryAgain === true ? `${done.refused}\nThat one has never signed in: --again puts another in their place.` : done.refused,
    );
  const { personId, instead = personId } = done;
  const lines = [
    `${personId} is the administrator of ${read.first.tenant}. Start Sallyport and sign in.`,
    ...(instead === personId ? [] : [`${instead} is not any more: it is left without the roles, and without a link.`]),
    ...(oidcIssuer === undefined
      ? [`OIDC_ISSUER is not set here, so nothing was compared: Sallyport must be started with OIDC_ISSUER=${read.first.issuer}`]
      : []),
  ];
  process.stderr.write(`${lines.join("\n")}\n`);
});

// `npm run doctor`: would a start succeed? Takes the options of `npm start`, changes nothing, exits 1 if something must be mended.
import { helpText, parseCommandLine, UsageError, type CommandLine } from "#app/model/command-line.ts";
import { npmStartEnvironment } from "#app/model/settings.ts";
import { silentLog } from "#telemetry/log.ts";

const readOptions = (): CommandLine => {
  try {
    return parseCommandLine(process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(error.message);
    process.exit(64);
  }
};

const commandLine = readOptions();
if (commandLine.help) {
  process.stdout.write(`npm run doctor -- [options of npm start]

Says whether a start with these options would succeed; changes nothing; ends with 1 if something must be mended.

${helpText}`);
  process.exit(0);
}
if (!process.env["ENVIRONMENT"]) console.log("ENVIRONMENT is unset: looking as npm start would run, as dev.");
const environment = npmStartEnvironment(process.env);
const { examineStart } = await import("#app/start/examine-start.ts");
await using examined = await examineStart({
  commandLine,
  environment,
  from: environment["SALLYPORT_INVOKED_FROM"] ?? process.cwd(),
  nodeVersion: process.versions.node,
  logOf: () => silentLog,
});
const { findings } = examined;
const marks = { ok: "ok   ", note: "note ", warn: "WARN ", fault: "FAULT" } as const;
for (const { area, status, text } of findings) console.log(`${marks[status]} ${area.padEnd(9)} ${text}`);
const issues = findings.filter((finding) => finding.status === "fault").length;
const warnings = findings.some((finding) => finding.status === "warn");
const verdict = warnings ? "A start would succeed, without what the warnings name." : "A start would succeed.";
console.log(issues === 0 ? verdict : `${issues} to mend.`);
process.exitCode = issues === 0 ? 0 : 1;

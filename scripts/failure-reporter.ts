import { relative } from "node:path";
import { inspect } from "node:util";
import type { TestEvent } from "node:test/reporters";

/**
 * A reporter of `node --test`: only what failed, each with its place and its whole error. A run of thousands of tests says it
 * again at its end, where it is looked for.
 */
export default async function* reportFailures(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of events) {
    if (event.type !== "test:fail") continue;
    const { name, file, line, details, todo, skip } = event.data;
    // A suite fails because of a test in it, which has its own event.
    if (todo !== undefined || skip !== undefined || isOfAnother(details.error)) continue;
    const place = file === undefined ? "" : ` (${relative(process.cwd(), file)}${line === undefined ? "" : `:${line}`})`;
    yield `✖ ${name}${place}\n${inspect(details.error.cause ?? details.error).replaceAll(/^/gm, "    ")}\n`;
  }
}

const isOfAnother = (error: Error): boolean => (error as { failureType?: unknown }).failureType === "subtestsFailed";

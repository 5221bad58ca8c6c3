import { readFile } from "node:fs/promises";
import { PGlite, protocol } from "@electric-sql/pglite";
import { pg_trgm } from "@electric-sql/pglite/contrib/pg_trgm";
import type { Column, ServerReply, ServerRequest, ServerStart, WireError } from "./pglite-protocol.ts";

const { serialize } = protocol;

type Message = Awaited<ReturnType<PGlite["execProtocolStream"]>>[number];

interface Prepared {
  readonly text: string;
  readonly wireName: string;
  readonly columns: readonly Column[];
}
const issueOf = (error: unknown): WireError => {
  const { code, message, constraint, table } = error as Partial<WireError>;
  return { code: code ?? "XX000", message: message ?? "unknown fault", constraint, table };
};

/**
 * Opens the embedded database and answers what is asked of it, in the order in which it came; while a transaction is open only its own
 * requests are. It computes on the thread that calls it, and holds that thread's loop meanwhile.
 */
export const servePglite = async (start: ServerStart, reply: (message: ServerReply) => void): Promise<(request: ServerRequest) => void> => {
  // Small log segments: the data folder of a small instance stays small, and so do the snapshots of the tests. 16 MiB of
  // buffers instead of PostgreSQL's 128: 120 MiB of memory less and an opening a quarter cheaper, for random reads and writes over a table of
  // 100 MiB that take 5 % longer; where the rows in use fit, nothing does.
  const options = {
    extensions: { pg_trgm },
    startParams: [...PGlite.defaultStartParams, "-c", "shared_buffers=16MB"],
    ...(start.snapshot === undefined
      ? { initDbStartParams: ["--wal-segsize=1"] }
      : { loadDataDir: new Blob([await readFile(start.snapshot)]) }),
  };
  const database = await (start.folder === undefined ? PGlite.create(options) : PGlite.create(start.folder, options));
  database.onNotification((channel, payload) => reply({ channel, payload }));

  const exchange = (...parts: readonly Uint8Array[]): Promise<Message[]> =>
    database.execProtocolStream(parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts), { syncToFs: false });

  const prepared = new Map<string, Prepared>();
  let generation = 0;

  const prepare = async (name: string, text: string): Promise<Prepared> => {
    const wireName = `${name}#${++generation}`;
    const messages = await exchange(
      serialize.parse({ name: wireName, text }),
      serialize.describe({ type: "S", name: wireName }),
      serialize.sync(),
    );
    const description = messages.find((message) => message.name === "rowDescription") as
      | { fields: readonly { name: string; dataTypeID: number }[] }
      | undefined;
    const columns = (description?.fields ?? []).map((field) => ({ name: field.name, oid: field.dataTypeID }));
    const made = { text, wireName, columns };
    prepared.set(name, made);
    return made;
  };

  const run = async (request: Extract<ServerRequest, { op: "run" }>): Promise<void> => {
    const known = prepared.get(request.name);
    const statement = known?.text === request.text ? known : await prepare(request.name, request.text);
    const messages = await exchange(
      serialize.bind({ statement: statement.wireName, values: [...request.values] }),
      serialize.execute({}),
      serialize.sync(),
    ).catch((error: unknown) => {
      // The shape of a table changed under a prepared statement: the next use prepares it anew.
      if ((error as { code?: string }).code === "0A000") prepared.delete(request.name);
      throw error;
    });
    const rows: (readonly (string | null)[])[] = [];
    for (const message of messages) if (message.name === "dataRow") rows.push((message as unknown as { fields: (string | null)[] }).fields);
    reply({ id: request.id, columns: statement.columns, rows, tag: "" });
  };

  /** Simple protocol: several statements, or the words that open and end a transaction. */
  const script = async (id: number, text: string): Promise<void> => {
    const messages = await exchange(serialize.query(text));
    const done = messages.findLast((message) => message.name === "commandComplete") as unknown as { text: string } | undefined;
    reply({ id, columns: [], rows: [], tag: done?.text ?? "" });
  };

  const serve = async (request: ServerRequest): Promise<void> => {
    switch (request.op) {
      case "run":
        return run(request);
      case "script":
      case "begin":
      case "end":
        return script(request.id, request.text);
      case "dump":
        return reply({ id: request.id, dump: await database.dumpDataDir("none") });
      case "close":
        await database.close();
        return reply({ id: request.id, columns: [], rows: [], tag: "" });
    }
  };

  let lane = 0;
  /** Transactions that were ended for having idled; what they still ask is refused. */
  const ended = new Set<number>();
  const waiting: ServerRequest[] = [];
  let busy = false;
  let idle: NodeJS.Timeout | undefined;

  const next = (): ServerRequest | undefined => {
    const at = waiting.findIndex((request) => lane === 0 || request.tx === lane);
    return at === -1 ? undefined : waiting.splice(at, 1)[0];
  };

  /** A transaction that asks nothing for so long is lost; it must not hold everybody else for ever. */
  const endIdle = async (): Promise<void> => {
    ended.add(lane);
    lane = 0;
    busy = true;
    await exchange(serialize.query("rollback")).catch(() => undefined);
    busy = false;
    await pump();
  };

  const pump = async (): Promise<void> => {
    if (busy) return;
    busy = true;
    clearTimeout(idle);
    for (let request = next(); request !== undefined; request = next()) {
      if (request.tx !== 0 && ended.has(request.tx)) {
        if (request.op === "end") ended.delete(request.tx);
        reply({ id: request.id, failure: { code: "25P03", message: "the transaction idled for too long and was rolled back" } });
        continue;
      }
      if (request.op === "begin") lane = request.tx;
      try {
        await serve(request);
      } catch (error) {
        reply({ id: request.id, failure: issueOf(error) });
      }
      if (request.op === "end") lane = 0;
    }
    busy = false;
    if (lane !== 0) idle = setTimeout(() => void endIdle(), start.idleInTransactionMs);
  };

  return (request) => {
    waiting.push(request);
    void pump();
  };
};

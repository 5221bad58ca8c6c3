import type { SqlValue, Statement, Transaction } from "./database.ts";
import type { ServerReply, ServerRequest } from "./pglite-protocol.ts";
import { transactionOver } from "./transaction.ts";
import { columnOf, decodeRows, encodeValue } from "./values.ts";

type Result = Extract<ServerReply, { columns: unknown }>;
/** Without its id; keeps the union apart. */
export type Ask = ServerRequest extends infer R ? (R extends ServerRequest ? Omit<R, "id" | "tx"> : never) : never;

/** A statement as the embedded database takes it. Throws TypeError for what cannot be a parameter. */
export const askFor = <Row>({ name, text }: Statement<Row>, values: readonly SqlValue[] = []): Ask => ({
  op: "run",
  name,
  text,
  values: values.map(encodeValue),
});

export const rowsOf = <Row>(reply: ServerReply): readonly Row[] => {
  const { columns, rows } = reply as Result;
  return decodeRows<Row>(
    columns.map(({ name, oid }) => columnOf(name, oid)),
    rows,
  );
};

/** One transaction of the embedded database, which has begun. `ask` sends a request in its lane. */
export const createPgliteTransaction = (ask: (request: Ask) => Promise<ServerReply>) => {
  // Replies come in the order of the requests: when a later one is there, so is the fault of what was posted.
  let posted: { readonly failure: unknown } | undefined;
  let isOver = false;
  const send = (request: Ask): Promise<ServerReply> => {
    if (isOver) throw transactionOver();
    return ask(request);
  };
  const answer = async (request: Ask): Promise<ServerReply> => {
    const [reply] = await Promise.allSettled([send(request)]);
    const first = posted;
    posted = undefined;
    if (first !== undefined) throw first.failure;
    if (reply.status === "rejected") throw reply.reason;
    return reply.value;
  };
  const sql: Transaction = {
    run: async <Row>(statement: Statement<Row>, values?: readonly SqlValue[]) => rowsOf<Row>(await answer(askFor(statement, values))),
    post: (statement, values) => {
      send(askFor(statement, values)).catch((failure: unknown) => {
        posted ??= { failure };
      });
    },
    script: async (text) => void (await answer({ op: "script", text })),
  };
  return {
    sql,
    /** Sends the word that ends it; resolves to what the database made of that. */
    end: async (word: "commit" | "rollback"): Promise<string> => {
      const ended = word === "commit" ? answer({ op: "end", text: word }) : ask({ op: "end", text: word });
      isOver = true;
      return ((await ended) as Result).tag;
    },
  };
};

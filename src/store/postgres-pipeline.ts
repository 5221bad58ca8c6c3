import type { Duplex } from "node:stream";
import type pg from "pg";
import type { Statement } from "./database.ts";
import { columnOf, type Column } from "./values.ts";

/** A statement and its parameters as text. */
export interface Step {
  readonly statement: Statement<unknown>;
  readonly values: readonly (string | null)[];
}

/** The driver's connection; its types leave most of it out. */
interface Wire {
  readonly stream: Duplex;
  /** Texts by name: what the server has, and what it has been sent. The driver keeps both, with the flight's `name` and `text`. */
  readonly parsedStatements: Record<string, string>;
  readonly submittedNamedStatements: Record<string, string>;
  parse(statement: { name: string; text: string }): void;
  bind(portal: { statement: string; values: readonly (string | null)[] }): void;
  describe(what: { type: "P" }): void;
  execute(): void;
  sync(): void;
  sendCopyFail(why: string): void;
}

/** Columns of the statements of a connection: a server that would answer with others says 0A000 instead. */
const described = new WeakMap<Wire, Map<string, readonly Column[]>>();

const columnsOn = (wire: Wire): Map<string, readonly Column[]> => {
  const known = described.get(wire) ?? new Map<string, readonly Column[]>();
  described.set(wire, known);
  return known;
};

/**
 * Several statements sent at once and answered at once, in one round trip, as a query of the driver. They share one Sync:
 * after the first that fails the server does nothing more of the flight, so no statement of a transaction can run outside
 * it, and there is only one fault. (The driver's own pipeline sends a Sync after each: what follows a `begin` that failed
 * would be committed by itself.) Outside a transaction they are one.
 */
export class Pipeline implements pg.Submittable {
  /** Read by the driver: the longest wait for the whole. */
  readonly query_timeout: number;
  /** Called by the driver, which may put another in its place. */
  callback: (error: unknown) => void;
  /** What the last step gave, not decoded yet. */
  columns: readonly Column[] = [];
  readonly rows: (readonly (string | null)[])[] = [];
  readonly #steps: readonly Step[];
  #at = 0;
  #wire: Wire | undefined;

  /** `landed` is called once: with a fault, or when all of it is done. */
  constructor(steps: readonly Step[], maxMs: number, landed: (error: unknown) => void) {
    this.#steps = steps;
    this.query_timeout = maxMs;
    this.callback = landed;
  }

  /** Steps that were done. */
  get done(): number {
    return this.#at;
  }

  /** Of the step whose answers come next: what the driver notes as known to the server. */
  get name(): string | undefined {
    return this.#steps[this.#at]?.statement.name;
  }
  get text(): string | undefined {
    return this.#steps[this.#at]?.statement.text;
  }

  submit(connection: unknown): Error | null {
    const wire = connection as Wire;
    this.#wire = wire;
    const texts = new Map<string, string>();
    for (const { statement } of this.#steps) {
      const text = wire.parsedStatements[statement.name] ?? texts.get(statement.name) ?? statement.text;
      if (text !== statement.text) return new TypeError(`two statements have the name ${statement.name}`);
      texts.set(statement.name, text);
    }
    wire.stream.cork();
    try {
      for (const step of this.#steps) send(wire, step);
      wire.sync();
    } finally {
      wire.stream.uncork();
    }
    return null;
  }

  handleRowDescription({ fields }: { readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[] }): void {
    this.columns = fields.map((field) => columnOf(field.name, field.dataTypeID));
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    if (this.#at === this.#steps.length - 1) this.rows.push(fields);
  }

  handleCommandComplete(): void {
    this.#complete();
  }

  handleEmptyQuery(): void {
    this.#complete();
  }

  handleReadyForQuery(): void {
    this.callback(undefined);
  }

  handleError(error: unknown): void {
    // What comes after the step that failed was not even parsed.
    for (const { statement } of this.#steps) delete this.#wire?.submittedNamedStatements[statement.name];
    this.callback(error);
  }

  /** Nothing is copied here; the server forgets the Sync that it met while it waited for rows. */
  handleCopyInResponse(): void {
    this.#wire?.sendCopyFail("nothing is copied");
    this.#wire?.sync();
  }

  handleCopyData(): void {}

  #complete(): void {
    const step = this.#steps[this.#at];
    const known = this.#wire === undefined ? undefined : columnsOn(this.#wire);
    if (step !== undefined && known !== undefined) {
      const before = known.get(step.statement.name);
      if (before === undefined) known.set(step.statement.name, this.columns);
      else this.columns = before;
    }
    this.#at += 1;
    if (this.#at < this.#steps.length) this.columns = [];
  }
}

const send = (wire: Wire, { statement: { name, text }, values }: Step): void => {
  if (wire.parsedStatements[name] === undefined && wire.submittedNamedStatements[name] === undefined) {
    wire.parse({ name, text });
    wire.submittedNamedStatements[name] = text;
  }
  wire.bind({ statement: name, values });
  if (!columnsOn(wire).has(name)) wire.describe({ type: "P" });
  wire.execute();
};

import { compileCel, type CelInputs } from "#parsing/cel.ts";
import { Problem } from "#contract/problem.ts";
import type { Caller } from "#authn/model/caller.ts";

/** What an expression may name. `call` before the upstream was asked, `response` after; `mapping` the words of AuthZEN's profile for MCP. */
export type Names = "call" | "response" | "mapping";

export interface ExpressionInputs {
  readonly input: unknown;
  readonly caller: { readonly sub: string; readonly tenant: string; readonly agent?: string };
  readonly now: Date;
  readonly response?: { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: unknown };
  readonly items?: readonly unknown[];
}

/** What expressions read of a call. */
export const inputsOf = (call: {
  readonly arguments: unknown;
  readonly caller: Pick<Caller, "sub" | "tenant" | "agent">;
  readonly now: Date;
}): ExpressionInputs => {
  const { sub, tenant, agent } = call.caller;
  return { input: call.arguments, caller: { sub, tenant, ...(agent === undefined ? {} : { agent }) }, now: call.now };
};

/** A checked CEL expression. */
export interface Expression {
  readonly text: string;
  /** `ABSENT` = it reads a member that is not there. */
  evaluate(inputs: CelInputs): unknown;
}

const before = { input: "map", caller: "map", now: "google.protobuf.Timestamp" };
const variables: Readonly<Record<Names, Readonly<Record<string, string>>>> = {
  call: before,
  response: { ...before, response: "map", items: "list" },
  mapping: { params: "map", token: "map" },
};

/** The text of an expression if a value is one: exactly `${ ... }` with blanks inside the braces. */
export const expressionText = (value: string): string | undefined => /^\$\{ ([\s\S]*) \}$/.exec(value)?.[1];

/** Compiles and type-checks; an issue is thrown as an `Error` whose message may be shown. Evaluated, it throws `expression_limit` or `upstream_bad_response`. */
export const compileExpression = (text: string, names: Names): Expression => {
  const evaluate = compileCel(text, variables[names]);
  return {
    text,
    evaluate: (inputs) => {
      try {
        return evaluate(inputs);
      } catch (cause) {
        if (cause instanceof Problem) throw cause;
        throw new Problem("upstream_bad_response", { detail: "An expression of the system failed.", cause });
      }
    },
  };
};

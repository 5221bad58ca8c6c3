import { isDeepStrictEqual } from "node:util";
import type { Caller } from "#authn/model/caller.ts";
import { Problem } from "#contract/problem.ts";
import { createShares } from "#http/shares.ts";
import { shapeOutput } from "#crud/mcp/call/steps/filter-output.ts";
import { UpstreamError } from "#crud/model/upstream-error.ts";
import type { Tool, ToolTest } from "#crud/tools/tool.ts";
import { createHttpConnector, type HttpOperation, type HttpSystem } from "#crud/upstream/http-connector.ts";
import type { HttpDocument } from "#crud/systems/system-document.ts";

type Written = HttpDocument["operations"][string]["tests"];

const shortened = (value: unknown): string => {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 200 ? `${text.slice(0, 200)}...` : text;
};
const issueOf = (error: unknown): Problem | undefined =>
  error instanceof UpstreamError ? error.problem : error instanceof Problem ? error : undefined;

const nobody: Omit<Caller, "tenant"> = {
  sub: "person:test",
  scopes: new Set(),
  actors: [],
  amr: [],
  issuer: "",
  isInternalService: false,
  token: "",
  expiresAt: 0,
};

/**
 * The tests of an operation: the input is checked and made a request of, the written answer taken for the upstream's, and shaped by the
 * file's masks and schema. Every row is kept, for there is no caller; nothing is sent, and no credential is read.
 */
export const operationTests = (system: HttpSystem, operation: HttpOperation, tool: Tool, tests: Written): readonly ToolTest[] =>
  tests.map(({ name, input, mock, expect }) => {
    const connector = createHttpConnector(
      {
        ...system,
        auth: { type: "none" },
        resilience: ({ attempt, signal }) => attempt(signal),
        exchange: async () => ({ status: mock.status, headers: mock.headers, body: mock.body }),
      },
      operation,
    );
    const answer = async (): Promise<unknown> => {
      const errors = await tool.checkArguments(input);
      if (errors.length > 0) throw new Problem("invalid_arguments", { errors });
      const upstream = await connector({
        callId: "test",
        correlationId: "test",
        caller: { ...nobody, tenant: tool.tenants?.[0] ?? "tenant:test" },
        decisionId: "test",
        toolName: tool.name,
        viewName: "",
        arguments: input,
        signal: new AbortController().signal,
        claim: createShares({ total: 0, perKey: 0 })("test"),
        secret: () => Promise.reject(new Problem("not_found")),
        conceal: () => {},
        now: new Date(),
      });
      const scope = { keeps: () => true, guardKeeps: () => true, masks: {} };
      return (await shapeOutput(upstream, { tool, given: { value: input }, scope, lifted: new Set() })).value;
    };
    return {
      name,
      run: async () => {
        let got: { readonly output: unknown } | { readonly error: string };
        let why = "";
        try {
          got = { output: await answer() };
        } catch (cause) {
          const problem = issueOf(cause);
          if (problem === undefined) throw cause;
          got = { error: problem.code };
          why = [problem.options.detail, ...(problem.options.errors ?? []).map(({ path, message }) => `${path} ${message}`)]
            .filter(Boolean)
            .join("; ");
        }
        if (isDeepStrictEqual(got, "error" in expect ? { error: expect.error } : { output: expect.output })) return undefined;
        return `gives ${shortened(got)}${why === "" ? "" : ` (${why})`}`;
      },
    };
  });

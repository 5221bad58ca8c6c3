import type { Issue } from "#contract/problem.ts";
import { issueLine } from "#contract/start-issues.ts";
import { visibleText } from "../web/src/strings/format.ts";
import { requestToken } from "./demo-token.ts";
import { reachInstance } from "./instance-fetch.ts";
import { Refusal } from "./refusal.ts";

/** How a command finds the running instance and says who asks. */
export interface Asking {
  /** The gateway's. */
  readonly port: string;
  /** Instead of the port. */
  readonly origin?: string | undefined;
  /** A demo person, where no token is given. */
  readonly as: string;
  readonly token?: string | undefined;
}

export interface InstanceRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: string | Uint8Array<ArrayBuffer> | undefined;
  readonly type?: string;
  /** The state that alone is changed. */
  readonly ifMatch?: string | undefined;
}

const fetchToken = async ({ token, as, port }: Asking): Promise<string> => {
  const held = token ?? process.env["SALLYPORT_TOKEN"];
  if (held !== undefined && held !== "") return held;
  try {
    // What commands do is the deployment's: it wants a strong sign-in.
    return await requestToken({ user: as, port, data: "", acr: "strong" });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const own = "Without the demo, and at an OpenID provider of your own, put an access token of an administrator in SALLYPORT_TOKEN";
    throw new Refusal(
      error.exitCode,
      `No token is given, and none can be had for the demo's ${as}: ${error.message}\n${own} (docs/explanation/configuration-store.md).`,
    );
  }
};

// Exit codes of sysexits.h: 65 not understood, 69 nobody answers, 77 not permitted, 78 issues in the route table.
const exitCodeOf = (status: number, code: string | undefined): number => {
  if (code === "routes_invalid") return 78;
  if (status === 401 || status === 403) return 77;
  return status >= 500 ? 69 : 65;
};

/** Asks a service of the running instance, `above` the gateway's port. Throws `Refusal` with Sallyport's own words for whatever is no success. */
export const askInstance = async (
  asking: Asking,
  above: number,
  { method, path, body, type, ifMatch }: InstanceRequest,
): Promise<Response> => {
  const { scheme, send } = await reachInstance();
  const origin = asking.origin ?? `${scheme}://localhost:${Number(asking.port) + above}`;
  const token = await fetchToken(asking);
  let answer: Response;
  try {
    answer = await send(new URL(path, origin).href, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(type === undefined ? {} : { "content-type": type }),
        ...(ifMatch === undefined ? {} : { "if-match": ifMatch }),
      },
      ...(body === undefined ? {} : { body }),
      redirect: "error",
      signal: AbortSignal.timeout(150_000),
    });
  } catch {
    throw new Refusal(69, `Nobody answers at ${origin}. Start Sallyport with \`npm start\`, or name it with --port or --origin.`);
  }
  if (answer.ok) return answer;
  const read = (await answer.json().catch(() => ({}))) as { code?: string; title?: string; detail?: string; errors?: Issue[] };
  const lines = [
    `${answer.status} ${read.code ?? ""}: ${read.detail ?? read.title ?? "no answer that can be read"}`,
    ...(read.errors ?? []).map(issueLine),
  ];
  throw new Refusal(exitCodeOf(answer.status, read.code), visibleText(lines.join("\n")));
};

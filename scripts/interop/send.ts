import { request as overHttp } from "node:http";
import { request as overHttps } from "node:https";
import { buffer } from "node:stream/consumers";
import type { Target } from "./target.ts";

const MAX_MS = 15_000;

/** Sends as `fetch` does; a body with a GET, which `fetch` refuses and other clients send, goes out too. */
export const sendOverHttp: Target["send"] = async (request, body) => {
  const signal = AbortSignal.timeout(MAX_MS);
  if (body === undefined) return fetch(request, { signal });
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const send = request.url.startsWith("https:") ? overHttps : overHttp;
  const headers = { ...Object.fromEntries(request.headers), "content-length": String(Buffer.byteLength(body)) };
  const outgoing = send(request.url, { method: request.method, headers, agent: false, signal }, (incoming) => {
    const got = new Headers();
    for (const [name, values] of Object.entries(incoming.headersDistinct)) for (const value of values ?? []) got.append(name, value);
    const answer = async (): Promise<Response> =>
      new Response(new Uint8Array(await buffer(incoming)), { status: incoming.statusCode ?? 0, headers: got });
    resolve(answer());
  });
  outgoing.once("error", reject);
  outgoing.end(body);
  return promise;
};

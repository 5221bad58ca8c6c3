import { gatherBytes } from "#http/read-bytes.ts";

/** Asks an address outside Sallyport: in time, without following anybody elsewhere, and no more than so many bytes of answer. */
export const fetchBounded = async (
  address: URL,
  init: RequestInit,
  bounds: { readonly timeoutMs: number; readonly maxBytes: number },
): Promise<{ readonly status: number; readonly text: string }> => {
  const response = await fetch(address, { ...init, redirect: "manual", signal: AbortSignal.timeout(bounds.timeoutMs) });
  const tooLarge = () => new RangeError(`${address.href} answered with more than ${bounds.maxBytes} bytes`);
  const bytes = response.body === null ? undefined : await gatherBytes(response.body, bounds.maxBytes, tooLarge);
  return { status: response.status, text: bytes?.toString("utf8") ?? "" };
};

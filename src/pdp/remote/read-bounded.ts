/** Asks an address outside the house: in time, without following anybody elsewhere, and no more than so many bytes of answer. */
export const fetchBounded = async (
  address: URL,
  init: RequestInit,
  bounds: { readonly timeoutMs: number; readonly maxBytes: number },
): Promise<{ readonly status: number; readonly type: string; readonly text: string }> => {
  const response = await fetch(address, { ...init, redirect: "manual", signal: AbortSignal.timeout(bounds.timeoutMs) });
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > bounds.maxBytes) throw new RangeError(`${address.href} answered with more than ${bounds.maxBytes} bytes`);
    chunks.push(chunk);
  }
  return { status: response.status, type: response.headers.get("content-type") ?? "", text: Buffer.concat(chunks).toString("utf8") };
};

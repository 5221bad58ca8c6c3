/** Bytes as the text that they are, byte for byte; undefined for what is no UTF-8 text, or holds a NUL. */
export const plainText = (bytes: Uint8Array): string | undefined => {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
};

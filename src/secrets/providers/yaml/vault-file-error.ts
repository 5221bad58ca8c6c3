/** Why a secrets file is refused, and where. The text never repeats content. */
export class VaultFileError extends Error {
  override readonly name = "VaultFileError";
}

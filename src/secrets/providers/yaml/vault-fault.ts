/** Why a secrets file is refused, and where. The text never repeats content. */
export class VaultFault extends Error {
  override readonly name = "VaultFault";
}

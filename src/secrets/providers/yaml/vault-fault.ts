/** Why a secrets file is refused, and where (both from 1). The text never repeats content. */
export class VaultFault extends Error {
  override readonly name = "VaultFault";
  readonly line: number | undefined;
  readonly column: number | undefined;
  constructor(message: string, line?: number, column?: number, options?: ErrorOptions) {
    super(line === undefined ? message : `${message} (line ${line}, column ${column ?? 1})`, options);
    this.line = line;
    this.column = column;
  }
}

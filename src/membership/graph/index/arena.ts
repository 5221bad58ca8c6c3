import { withRoom } from "./column.ts";

/** Bytes that grow. `view` is the same memory, for reading texts out of it. */
export class Arena {
  bytes: Uint8Array<ArrayBuffer> = new Uint8Array(1024);
  view = Buffer.from(this.bytes.buffer);

  /** Room for so many bytes in all. What was read from `bytes` before may be another memory now. */
  reserve(size: number): void {
    const bytes = withRoom(this.bytes, size);
    if (bytes === this.bytes) return;
    this.bytes = bytes;
    this.view = Buffer.from(bytes.buffer);
  }
}

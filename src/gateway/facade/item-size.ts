/** What is wrong with properties and context of one item, as JSON, that are larger than is taken; `undefined`: nothing. */
export const sizeFault = (members: readonly unknown[], limitBytes: number): string | undefined =>
  Buffer.byteLength(members.map((member) => JSON.stringify(member ?? {})).join("")) > limitBytes
    ? `holds more than ${limitBytes} bytes of properties and context`
    : undefined;

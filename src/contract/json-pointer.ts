/** RFC 6901 pointers into JSON values. */

export type Pointer = readonly string[];

export const parsePointer = (text: string): Pointer =>
  text === ""
    ? []
    : text
        .slice(1)
        .split("/")
        .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));

/** `""` is the whole value. */
export const pointerText = (path: readonly PropertyKey[]): string =>
  path.map((part) => `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

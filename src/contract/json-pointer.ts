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

/** Longest name in the pointer of an issue, and longest such pointer, characters: what is refused is not repeated in each of its issues. */
const MAX_SHOWN_NAME = 200;
const MAX_SHOWN_POINTER = 2000;
const shortened = (text: string, max: number): string => (text.length > max ? `${text.slice(0, max)}…` : text);

/** A pointer for people: long names are shortened. Cost: no more for long ones. */
export const shownPointer = (path: readonly PropertyKey[]): string =>
  shortened(pointerText(path.map((part) => shortened(String(part), MAX_SHOWN_NAME))), MAX_SHOWN_POINTER);

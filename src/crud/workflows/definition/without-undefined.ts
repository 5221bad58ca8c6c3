type Present<T> = { [Name in keyof T as undefined extends T[Name] ? never : Name]: T[Name] } & {
  [Name in keyof T as undefined extends T[Name] ? Name : never]?: Exclude<T[Name], undefined>;
};

/** An object without the members that have no value. */
export const withoutUndefined = <T extends object>(given: T): Present<T> =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Present<T>;

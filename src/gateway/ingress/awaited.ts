/** One that is waited for; `gone` ends it, and says whether it was still there. */
export interface Place {
  gone(): boolean;
}

/** What is waited for at this moment, in the order in which it came. */
export interface Awaited<T> {
  add(value: T): Place;
  /** Those that are there now; whoever goes meanwhile is left out. */
  [Symbol.iterator](): IterableIterator<T>;
}

class Link<T> implements Place {
  value: T | undefined;
  before: Link<T>;
  after: Link<T>;

  constructor(value: T | undefined, before?: Link<T>) {
    this.value = value;
    this.before = before ?? this;
    this.after = before?.after ?? this;
    this.before.after = this;
    this.after.before = this;
  }

  gone(): boolean {
    if (this.value === undefined) return false;
    this.before.after = this.after;
    this.after.before = this.before;
    this.value = undefined;
    this.before = this;
    this.after = this;
    return true;
  }
}

/**
 * A list whose members leave in any order, at a constant cost and without a trace. Not a `Set`: V8 builds a new table for
 * one that grows and shrinks with every request, and each old table keeps the next one, and whoever stood in it. Once a full
 * collection meets such a table it lies among the old objects, and from then on every request is copied there after it.
 */
export const createAwaited = <T extends object>(): Awaited<T> => {
  const end = new Link<T>(undefined);
  return {
    add: (value) => new Link(value, end.before),
    *[Symbol.iterator]() {
      const all: Link<T>[] = [];
      for (let link = end.after; link !== end; link = link.after) all.push(link);
      for (const { value } of all) if (value !== undefined) yield value;
    },
  };
};

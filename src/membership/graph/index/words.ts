/** Values of which there are few: each is kept once and known by its number. 0 stands for none. */
export class Words<V> {
  readonly #numbers = new Map<string, number>();
  readonly #values: (V | undefined)[] = [undefined];

  /** The number of the value that this text says; `make` makes it the first time. */
  add(text: string | null, make: (text: string) => V): number {
    if (text === null) return 0;
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    const number = this.#values.push(make(text)) - 1;
    this.#numbers.set(text, number);
    return number;
  }

  /** 0: it is none of them. */
  find(text: string): number {
    return this.#numbers.get(text) ?? 0;
  }

  at(number: number): V | undefined {
    return this.#values[number];
  }
}

/**
 * An answer whose body is one text. A `Response` like any other, but the text is not made a stream of before somebody asks
 * for one: a peer in this process takes it as it is, and written to a socket it leaves with its head in one piece.
 */
export class TextResponse extends Response {
  readonly #text: string;
  #isTaken = false;
  #whole: Response | undefined;

  constructor(text: string, init: ResponseInit) {
    super(null, init);
    this.#text = text.toWellFormed();
  }

  /** The text, once: `undefined` for another kind of answer, and for one whose body somebody has begun to read. */
  static take(response: Response): string | undefined {
    if (!(#text in response) || response.#isTaken || response.#whole !== undefined) return undefined;
    response.#isTaken = true;
    return response.#text;
  }

  static isUsed(response: TextResponse): boolean {
    return response.#isTaken || (response.#whole?.bodyUsed ?? false);
  }

  /** The same with a body as the platform makes it; from then on that one is read. */
  static whole(response: TextResponse): Response {
    if (response.#whole !== undefined) return response.#whole;
    const { status, statusText, headers } = response;
    const made = new Response(response.#text, { status, statusText, headers });
    if (response.#isTaken) void made.text();
    response.#whole = made;
    return made;
  }
}

const define = (name: string, descriptor: PropertyDescriptor & ThisType<TextResponse>): void => {
  Object.defineProperty(TextResponse.prototype, name, { configurable: true, ...descriptor });
};

// The platform's types call these properties, which a class cannot override with methods and getters of its own.
for (const name of ["arrayBuffer", "blob", "bytes", "clone", "formData"] as const)
  define(name, {
    value() {
      return TextResponse.whole(this)[name]();
    },
  });
define("text", {
  async value() {
    return TextResponse.take(this) ?? TextResponse.whole(this).text();
  },
});
define("json", {
  async value() {
    const text = TextResponse.take(this);
    return text === undefined ? TextResponse.whole(this).json() : JSON.parse(text);
  },
});
define("body", {
  get() {
    return TextResponse.whole(this).body;
  },
});
define("bodyUsed", {
  get() {
    return TextResponse.isUsed(this);
  },
});

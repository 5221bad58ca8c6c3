export interface TextInit {
  /** 200 unless given. */
  readonly status?: number;
  /** Not as an object of the platform: names in lower case, each once, and values that a header may have. */
  readonly headers: Headers | Readonly<Record<string, string>>;
}

/**
 * An answer whose body is one text. A `Response` like any other, but neither the text is made a stream of nor the headers an
 * object before somebody asks for one: a peer in this process takes the text as it is, and written to a socket it leaves with
 * its head in one piece.
 */
export class TextResponse extends Response {
  readonly #text: string;
  readonly #given: Readonly<Record<string, string>>;
  #made: Headers | undefined;
  #isTaken = false;
  #whole: Response | undefined;

  constructor(text: string, { status = 200, headers }: TextInit) {
    super(null, { status });
    this.#text = text.toWellFormed();
    this.#made = headers instanceof Headers ? headers : undefined;
    this.#given = headers instanceof Headers ? {} : headers;
  }

  /** The text, once: `undefined` for another kind of answer, and for one whose body somebody has begun to read. */
  static take(response: Response): string | undefined {
    if (!(#text in response) || response.#isTaken || response.#whole !== undefined) return undefined;
    response.#isTaken = true;
    return response.#text;
  }

  /** Names and values of its headers but the length, by turns; `undefined` for another kind of answer. */
  static headOf(response: Response): string[] | undefined {
    if (!(#text in response)) return undefined;
    const head: string[] = [];
    for (const [name, value] of response.#made ?? Object.entries(response.#given)) if (name !== "content-length") head.push(name, value);
    return head;
  }

  static headers(response: TextResponse): Headers {
    return (response.#made ??= new Headers(response.#given));
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
define("headers", {
  get() {
    return TextResponse.headers(this);
  },
});

const names: ReadonlySet<string> = new Set(["localhost", "[::1]"]);

/** A host name of a URL in one spelling: without the dot of the DNS root, and IPv4 in IPv6 as IPv4. */
export const canonicalHost = (name: string): string => {
  const words = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/.exec(name)?.slice(1) ?? [];
  const bytes = words.map((word) => Number.parseInt(word, 16)).flatMap((word) => [word >> 8, word & 0xff]);
  return bytes.length === 0 ? name.replace(/\.$/, "") : bytes.join(".");
};

/** Whether a host, as a URL writes it and with or without a port, is this machine itself. */
export const isLoopbackHost = (host: string): boolean => {
  const name = canonicalHost(host.replace(/:\d+$/, ""));
  return names.has(name) || /^127(?:\.\d{1,3}){3}$/.test(name);
};

/** Whether what is sent to an address is read by nobody on the way: it leads over TLS, or never leaves this machine. */
export const isTlsOrLoopback = (address: string): boolean => {
  const url = URL.parse(address);
  return url !== null && (url.protocol === "https:" || (url.protocol === "http:" && isLoopbackHost(url.host)));
};

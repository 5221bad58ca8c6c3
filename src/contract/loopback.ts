const names: ReadonlySet<string> = new Set(["localhost", "[::1]"]);

/** Whether a host, as a URL writes it and with or without a port, is this machine itself. */
export const isLoopbackHost = (host: string): boolean => {
  const name = host.replace(/:\d+$/, "");
  return names.has(name) || /^127(?:\.\d{1,3}){3}$/.test(name);
};

/** Whether what is sent to an address is read by nobody on the way: it leads over TLS, or never leaves this machine. */
export const isTlsOrLoopback = (address: string): boolean => {
  const url = URL.parse(address);
  return url !== null && (url.protocol === "https:" || (url.protocol === "http:" && isLoopbackHost(url.host)));
};

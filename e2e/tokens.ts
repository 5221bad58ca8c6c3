import { clientSecret, requestToken, type TokenAsk as Ask } from "../scripts/demo-token.ts";

export interface TokenAsk extends Omit<Ask, "port" | "data" | "aud" | "acr"> {
  readonly acr?: "strong";
  readonly data?: string;
  readonly aud?: string;
}

/** What `npm run token` prints, without a process for each: the token, for Sallyport on this port. `environment`: as Sallyport's, beside our own. */
export const fetchToken = async (
  port: number,
  { aud, data = ".sallyport", ...ask }: TokenAsk,
  environment: Readonly<Record<string, string>> = {},
): Promise<string> =>
  requestToken({ ...ask, port: String(port), data, ...(aud === undefined ? {} : { aud: [aud] }) }, { ...process.env, ...environment });

/** The secret with which this agent or service client of the demo proves itself to Sallyport on that data folder. */
export const fetchSecret = (data: string, clientId: string): Promise<string> => clientSecret(clientId, data);

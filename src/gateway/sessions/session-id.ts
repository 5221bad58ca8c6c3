import { hash, randomBytes } from "node:crypto";

/** What the browser holds: 32 random bytes. */
export const makeSid = (): string => randomBytes(32).toString("base64url");

export const isSid = (text: string): boolean => /^[A-Za-z0-9_-]{43}$/.test(text);

/** What the store holds of it. */
export const hashSid = (sid: string): string => hash("sha256", sid, "base64url");

import { z } from "zod";
import { secretSchemePattern } from "./secret-schemes.ts";

/** Where a secret lies, for what must never hold the secret itself. */
export const secretReference = z
  .string()
  .max(1024)
  .regex(new RegExp(String.raw`^(?:${secretSchemePattern})://[^\s#?]+#[^\s#?]+(?:\?version=\d+)?$`, "i"), {
    error: "must be a secret URI with a key: a credential is never written here",
  });

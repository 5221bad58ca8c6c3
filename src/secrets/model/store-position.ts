import { isObject } from "#contract/is-object.ts";

/** How far a store has come. Places of one cluster have an order. */
export interface StorePosition {
  /** "" where there is one alone. */
  readonly cluster: string;
  /** Decimal digits; `undefined`: the next number of the database. */
  readonly value: string | undefined;
  /** The text by which the store knows it. */
  readonly place: string;
}

/** A store that other processes read, too. */
export interface SharedStore {
  /** As records name it. */
  readonly name: string;
  /** How far the store has come, as far as this process knows: told to other processes, which read it only where it has come so far. */
  position?(): StorePosition | undefined;
  /** From here on nothing is read of a store, or of what is kept of it, that has come less far. */
  reach?(position: StorePosition): void;
}

const digits = /^[0-9]{1,20}$/;

/** `X-Vault-Index`: base64 of `{"cluster","value"}` (OpenBao) or of `v1:<cluster>:<value>:...` (Vault). Of another form nothing is known. */
export const readPosition = (place: string): StorePosition | undefined => {
  const text = Buffer.from(place, "base64").toString("utf8");
  const [, ofVault = "", atVault = ""] = text.split(":");
  let cluster: unknown = ofVault;
  let value: unknown = atVault;
  if (text.startsWith("{"))
    try {
      const read: unknown = JSON.parse(text);
      if (isObject(read)) ({ cluster, value } = read);
    } catch {
      return undefined;
    }
  return typeof cluster === "string" && typeof value === "string" && digits.test(value) ? { cluster, value, place } : undefined;
};

/** The farther one; of two clusters the one that is named last. */
export const fartherOf = (one: StorePosition | undefined, other: StorePosition): StorePosition =>
  one !== undefined && one.cluster === other.cluster && BigInt(one.value ?? 0) > BigInt(other.value ?? 0) ? one : other;

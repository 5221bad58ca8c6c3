import { noAddressCount, type AddressCount } from "./address-count.ts";

/** Requests under way in this process. */
export interface Load {
  /** Counts one more, of this address; the returned function ends it and may be called again. */
  enter(address: string): () => void;
  /** True when more are under way than Sallyport takes: the newest is one too many. */
  readonly isOver: boolean;
  /** The same of this address's own share. */
  isOverOf(address: string): boolean;
  readonly inFlight: number;
}

export const createLoad = (max: number, ofAddress: AddressCount = noAddressCount): Load => {
  let inFlight = 0;
  return {
    enter: (address) => {
      inFlight += 1;
      const leave = ofAddress.enter(address);
      let isUnderWay = true;
      return () => {
        if (isUnderWay) inFlight -= 1;
        isUnderWay = false;
        leave();
      };
    },
    get isOver() {
      return inFlight > max;
    },
    isOverOf: (address) => ofAddress.isOver(address),
    get inFlight() {
      return inFlight;
    },
  };
};

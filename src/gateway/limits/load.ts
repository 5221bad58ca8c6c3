/** Requests under way in this process. */
export interface Load {
  /** Counts one more; the returned function ends it and may be called again. */
  enter(): () => void;
  /** True when more are under way than the house takes: the newest is one too many. */
  readonly isOver: boolean;
  readonly inFlight: number;
}

export const createLoad = (most: number): Load => {
  let inFlight = 0;
  return {
    enter: () => {
      inFlight += 1;
      let isUnderWay = true;
      return () => {
        if (isUnderWay) inFlight -= 1;
        isUnderWay = false;
      };
    },
    get isOver() {
      return inFlight > most;
    },
    get inFlight() {
      return inFlight;
    },
  };
};

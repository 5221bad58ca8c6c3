import { useEffect, useState } from "react";

/** The present moment, renewed each `everyMs`. */
export const useClock = (everyMs: number): Date => {
  const [now, setNow] = useState(() => new Date());
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
};

/** The value once it has held for that long. */
export const useDebounced = <T>(value: T, milliseconds: number): T => {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value, milliseconds]);
  return settled;
};

/** True once `isOn` has held for that long: so that what is quick never flickers. */
export const useDelayed = (isOn: boolean, milliseconds: number): boolean => {
  const [late, setLate] = useState(false);
  useEffect(() => {
    setLate(false);
    if (!isOn) return undefined;
    const timer = setTimeout(() => setLate(true), milliseconds);
    return () => clearTimeout(timer);
  }, [isOn, milliseconds]);
  return isOn && late;
};

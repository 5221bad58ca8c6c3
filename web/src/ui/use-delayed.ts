import { useEffect, useState } from "react";

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

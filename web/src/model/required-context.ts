import { createContext, useContext } from "react";

/** A context, and the hook that reads it; `what` is said to be missing where nothing provides it. */
export const requiredContext = <T>(what: string) => {
  const Context = createContext<T | undefined>(undefined);
  const useValue = (): T => {
    const value = useContext(Context);
    if (value === undefined) throw new Error(`no ${what} around this component`);
    return value;
  };
  return [Context, useValue] as const;
};

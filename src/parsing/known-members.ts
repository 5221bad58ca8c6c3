import { z } from "zod";

/** The shapes that a shape stands for: what wraps it taken away, of several each. */
const bareShapes = (shape: unknown): readonly unknown[] => {
  if (shape instanceof z.ZodUnion) return shape.options.flatMap(bareShapes);
  if (shape instanceof z.ZodPipe) return bareShapes(shape.in);
  if (
    shape instanceof z.ZodOptional ||
    shape instanceof z.ZodNullable ||
    shape instanceof z.ZodDefault ||
    shape instanceof z.ZodPrefault ||
    shape instanceof z.ZodReadonly ||
    shape instanceof z.ZodLazy
  )
    return bareShapes(shape.unwrap());
  return [shape];
};

const memberOf = (shape: unknown, name: PropertyKey): readonly unknown[] => {
  if (shape instanceof z.ZodObject) return Object.hasOwn(shape.shape, name) ? bareShapes(shape.shape[String(name)]) : [];
  if (shape instanceof z.ZodRecord) return bareShapes(shape.valueType);
  return shape instanceof z.ZodArray ? bareShapes(shape.element) : [];
};

/** The members that a shape knows at a place in it; of several shapes that a value may have there, those of each. */
export const knownMembers = (shape: z.ZodType, path: readonly PropertyKey[]): readonly string[] =>
  path
    .reduce<readonly unknown[]>((shapes, name) => shapes.flatMap((one) => memberOf(one, name)), bareShapes(shape))
    .flatMap((one) => (one instanceof z.ZodObject ? Object.keys(one.shape) : []));

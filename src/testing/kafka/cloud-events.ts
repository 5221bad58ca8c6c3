import assert from "node:assert/strict";
import { Ajv2020, type AnySchema } from "ajv/dist/2020.js";
import { Kafka, type CloudEvent } from "cloudevents";
import type { ReadRecord } from "./kafka-broker.ts";

/** A record as the library of the CloudEvents project reads it, which throws for what is none. */
export const cloudEventOf = ({ key, value, headers }: ReadRecord): CloudEvent<unknown> => {
  const message = { key, value, body: value, headers: { ...headers } };
  const event = Kafka.toEvent<unknown>(message) as CloudEvent<unknown>;
  event.validate();
  return event;
};

const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true });

/** Throws unless the data is as the schema says, by a judge of another make than Sallyport's, which takes no unknown word in a schema either. */
export const requireValid = (schema: AnySchema, { type, data }: CloudEvent<unknown>): void =>
  assert.ok(ajv.validate(schema, data), `${type}: ${ajv.errorsText()}`);

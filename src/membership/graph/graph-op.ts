/** One altered row, whole, as it was and as it is. */
export interface GraphOp {
  readonly op: "put_node" | "drop_node" | "put_edge" | "drop_edge";
  /** Id of the node or edge. */
  readonly subject: string;
  /** Kind of the node or edge; told in the event. */
  readonly kind: string;
  readonly src?: string;
  readonly dst?: string;
  readonly before?: Readonly<Record<string, unknown>>;
  readonly after?: Readonly<Record<string, unknown>>;
}

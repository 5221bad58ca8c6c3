// The ingress of the program.
import { hideEnvironment } from "./app/hide-environment.ts";

hideEnvironment();
const { runInstance } = await import("./app/run-instance.ts");
await runInstance();

// The front door of the program.
import { hideEnvironment } from "./house/hide-environment.ts";

hideEnvironment();
const { runHouse } = await import("./house/run-house.ts");
await runHouse();

// The front door of the program.
import { runHouse } from "./house/run-house.ts";

await runHouse();

import { forEachDatabase } from "#testing/database.ts";
import { databaseContract } from "./database.contract.ts";

databaseContract(forEachDatabase);

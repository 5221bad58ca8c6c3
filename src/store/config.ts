import { z } from "zod";
import { integer, setting, type SettingTable } from "#contract/setting.ts";

const postgresUrl = z.url({ protocol: /^postgres(?:ql)?$/, error: "must be a postgres:// URL" });

const redisUrl = z.url({ protocol: /^rediss?$/, error: "must be a redis:// or rediss:// URL" });

/** Where everything is kept. */
export const storeSettings = {
  databaseUrl: setting("DATABASE_URL", postgresUrl.optional(), {
    description: "PostgreSQL 15 or newer. Unset: the embedded database in the data folder, for one process.",
    secret: true,
  }),
  databaseListenUrl: setting("DATABASE_LISTEN_URL", postgresUrl.optional(), {
    description: "The same PostgreSQL without a pooler in between, for LISTEN. Unset: DATABASE_URL.",
    secret: true,
  }),
  databasePoolSize: setting("DATABASE_POOL_SIZE", integer(1, 500), {
    description: "Most connections of this process to PostgreSQL, the one for LISTEN apart.",
    unit: "connections",
    default: "10",
  }),
  redisUrl: setting("REDIS_URL", redisUrl.optional(), {
    description: "Redis that the gateway's replicas share, redis:// or rediss:// (TLS). Unset: none is used.",
    secret: true,
  }),
  redisCaFile: setting("REDIS_CA_FILE", z.string().min(1).optional(), {
    description: "Authority (PEM) that signed Redis's certificate. Unset: those of the system.",
  }),
} satisfies SettingTable;

import { randomUUID } from "node:crypto";
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import test, { type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { cleanUp } from "#testing/clean-up.ts";
import { freePort } from "#testing/free-port.ts";
import { requireProgram } from "#testing/programs.ts";
import { until } from "#testing/until.ts";
import { atEndOfProcess } from "#testing/shared.ts";

/** A record as an independent consumer (librdkafka) read it. */
export interface ReadRecord {
  readonly topic: string;
  readonly partition: number;
  readonly key: string;
  readonly value: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A broker as one test has it. */
export interface KafkaBroker {
  /** Of all topics that the test writes, which others on the same broker do not. */
  readonly topicPrefix: string;
  /** librdkafka's mock refuses producers that want their batches numbered, takes a record of any size and forgets all when it ends. */
  readonly isMock: boolean;
  readonly address: string;
  freeze(): void;
  thaw(): void;
  kill(): Promise<void>;
  /** Again on its port with what it has on disk; a mock has neither. */
  start(): Promise<void>;
  /** Starts it again, from now on taking batches of so many bytes; not a mock. */
  takeUpTo(bytes: number): Promise<void>;
  /** All records of these topics, named without the prefix, in the order of each partition. */
  read(...topics: string[]): Promise<readonly ReadRecord[]>;
}

const script = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const run = promisify(execFile);

const kill = async (child: ChildProcess | undefined): Promise<void> => {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
};

/** Largest batch that the real broker takes here, in bytes. */
export const maxBatchBytes = 20_000;

const topicsUnder = (topicPrefix: string, library: string, address: string): Pick<KafkaBroker, "topicPrefix" | "read"> => {
  return {
    topicPrefix,
    read: async (...topics) => {
      const named = topics.map((topic) => `${topicPrefix}${topic}`).join(",");
      const { stdout } = await run("python3", [script("consume.py"), library, address, named], { maxBuffer: 1 << 28 });
      return stdout.split("\n").flatMap((line) => {
        if (line === "") return [];
        const record = JSON.parse(line) as ReadRecord;
        return [{ ...record, topic: record.topic.slice(topicPrefix.length) }];
      });
    },
  };
};

/** librdkafka's mock in a process of its own; `library` is the folder that holds the wheel. */
export const startMockBroker = async (t: Pick<TestContext, "after">, library: string): Promise<KafkaBroker> => {
  const child = spawn("python3", [script("mock_broker.py"), library], { stdio: ["pipe", "pipe", "inherit"] });
  cleanUp(t, () => kill(child));
  const [port] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  const address = `127.0.0.1:${port}`;
  return {
    isMock: true,
    address,
    freeze: () => void child.kill("SIGSTOP"),
    thaw: () => void child.kill("SIGCONT"),
    kill: () => kill(child),
    start: () => Promise.reject(new Error("a mock does not come back")),
    takeUpTo: () => Promise.reject(new Error("a mock has no limit")),
    ...topicsUnder("", library, address),
  };
};

const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.once("connect", () => (socket.destroy(), resolve(true)));
    socket.once("error", () => (socket.destroy(), resolve(false)));
  });

interface RealBroker extends Omit<KafkaBroker, "topicPrefix" | "read"> {
  /** Whatever the last test made of it: serving, with the limit that it began with. */
  recover(): Promise<void>;
}

const startReal = async (t: Pick<TestContext, "after">, jar: string): Promise<RealBroker> => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-kafka-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  const [port, controller] = [await freePort(), await freePort()];
  const address = `127.0.0.1:${port}`;
  const settings = {
    "process.roles": "broker,controller",
    "node.id": "1",
    listeners: `PLAINTEXT://${address},CONTROLLER://127.0.0.1:${controller}`,
    "advertised.listeners": `PLAINTEXT://${address},CONTROLLER://127.0.0.1:${controller}`,
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.bootstrap.servers": `127.0.0.1:${controller}`,
    "log.dirs": join(folder, "data"),
    "num.partitions": "4",
    "default.replication.factor": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "message.max.bytes": String(maxBatchBytes),
  };
  const file = join(folder, "server.properties");
  const write = (more: Readonly<Record<string, string>> = {}): Promise<void> =>
    writeFile(
      file,
      Object.entries({ ...settings, ...more }).map(([name, value]) => `${name}=${value}\n`),
    );
  await write();
  const java = ["-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", `${dirname(jar)}/*`];
  await run("java", [...java, "kafka.tools.StorageTool", "format", "--standalone", "-t", "c2FsbHlwb3J0LXRlc3QtMQ", "-c", file]);
  let child: ChildProcess | undefined;
  let isLimited = true;
  const start = async (): Promise<void> => {
    const started = spawn("java", [...java, "kafka.Kafka", file], { stdio: ["ignore", "pipe", "pipe"], cwd: folder });
    child = started;
    let said = "";
    for (const stream of [started.stdout, started.stderr]) stream.on("data", (chunk) => (said = `${said}${String(chunk)}`.slice(-4000)));
    await until(
      () => {
        if (started.exitCode !== null) throw new Error(`Kafka ended with ${started.exitCode}: ${said}`);
        return accepts(port);
      },
      Boolean,
      90_000,
    );
  };
  cleanUp(t, () => kill(child));
  await start();
  return {
    isMock: false,
    address,
    freeze: () => void child?.kill("SIGSTOP"),
    thaw: () => void child?.kill("SIGCONT"),
    kill: () => kill(child),
    start,
    takeUpTo: async (bytes) => {
      await kill(child);
      await write({ "message.max.bytes": String(bytes) });
      isLimited = false;
      await start();
    },
    recover: async () => {
      child?.kill("SIGCONT");
      if (isLimited && child?.exitCode === null && child.signalCode === null) return;
      await kill(child);
      await write();
      isLimited = true;
      await start();
    },
  };
};

/** One for all tests of a process: two programs of Java are run until it serves. */
let real: Promise<RealBroker> | undefined;

const borrowReal = async (library: string, jar: string): Promise<KafkaBroker> => {
  real ??= startReal({ after: atEndOfProcess }, jar);
  const broker = await real;
  await broker.recover();
  return { ...broker, ...topicsUnder(`test-${randomUUID()}.`, library, broker.address) };
};

/**
 * Declares the test twice: on librdkafka's mock broker and on a real Apache Kafka, both read by librdkafka's consumer. What is not
 * there is skipped by name; with REQUIRE_REAL=1 it fails.
 */
export const forEachBroker = (name: string, work: (t: TestContext, broker: KafkaBroker) => Promise<void>): void => {
  const libraryOf = (t: TestContext): string | undefined => {
    const library = requireProgram(t, "confluent-kafka");
    return library === undefined ? undefined : dirname(dirname(library));
  };
  void test(`${name} (librdkafka's mock)`, async (t) => {
    const library = libraryOf(t);
    if (library !== undefined) await work(t, await startMockBroker(t, library));
  });
  void test(`${name} (Apache Kafka)`, async (t) => {
    const library = libraryOf(t);
    if (library === undefined) return;
    const jar = requireProgram(t, "kafka");
    if (jar !== undefined) await work(t, await borrowReal(library, jar));
  });
};

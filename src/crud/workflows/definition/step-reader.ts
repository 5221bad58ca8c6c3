/* oxlint-disable unicorn/no-thenable -- `then` is a member of tasks in the DSL. */
import { isObject } from "#contract/is-object.ts";
import { nearestWord } from "#parsing/nearest-word.ts";
import type { Step } from "#crud/workflows/model/workflow-document.ts";
import { localTypes, variableTypes } from "./expressions.ts";
import { withOutput, type ExpressionReader, type Names } from "./expression-reader.ts";
import { readHuman } from "./human-reader.ts";
import type { IssueReport, Path } from "./issue-report.ts";
import { errorType, type PolicyReader } from "./policy-reader.ts";
import { checkReach, checkTarget, type Listed } from "./task-list.ts";
import { caseShape, taskShapes, unsupportedWords, type TaskText, type TaskWord } from "./task-shapes.ts";
import { withoutUndefined } from "./without-undefined.ts";

const MAX_TASKS = 500;
const MAX_NESTING = 10;
const TASK_NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
/** `for` and `try` have a `do` as well. */
const words: readonly TaskWord[] = ["for", "try", "call", "set", "raise", "wait", "switch", "fork", "do"];
/** Calls of the DSL that are no tools. */
const foreignCalls = new Set(["http", "grpc", "openapi", "asyncapi", "mcp", "a2a"]);
const callOptions = ["compensate", "onUnknown"];
const taken = new Set([...Object.keys(variableTypes), ...Object.keys(localTypes)]);

export interface StepReaders {
  readonly report: IssueReport;
  readonly expressions: ExpressionReader;
  readonly policies: PolicyReader;
}
/** Where a list of tasks stands, and how deep. */
interface ListAt {
  readonly path: Path;
  readonly names: Names;
  readonly depth: number;
  /** Branches go side by side: none of them sees another. */
  readonly isFork?: boolean;
}
/** A task with what it may name. */
interface TaskAt extends Listed {
  readonly names: Names;
  readonly depth: number;
}

/** Reads tasks into steps. What is wrong is reported; steps of a document without issues are whole. */
export const createStepReader = (parts: StepReaders) => {
  const { report, expressions, policies } = parts;
  let count = 0;

  const requireVariable = (name: string, path: Path, more: ReadonlySet<string> = new Set()): void => {
    const isTaken = taken.has(name) && !(name === "error" && path.at(-1) === "as");
    if (!VARIABLE.test(name) || isTaken || more.has(name))
      report.add("bad_name", path, isTaken || more.has(name) ? `${name} is a variable already` : "must be letters, digits and _");
  };

  /** The tasks of a list by name, as far as they are any. */
  const listedIn = (list: readonly unknown[], path: Path): readonly Listed[] => {
    const known = new Set<string>();
    return list.flatMap((item, at): readonly Listed[] => {
      const place = [...path, at];
      const [name, ...others] = isObject(item) ? Object.keys(item) : [];
      if (!isObject(item) || name === undefined || others.length > 0) {
        report.add("wrong_type", place, "must be a map of one name to its task");
        return [];
      }
      if (!TASK_NAME.test(name)) report.addAtKey("bad_name", [...place, name], "must be letters, digits, _ and -, a letter first");
      if (known.has(name)) report.addAtKey("duplicate_task", [...place, name], `names ${name} a second time in this list`);
      known.add(name);
      return [{ name, path: [...place, name], task: item[name] }];
    });
  };

  const readList = (list: readonly unknown[], { path, names, depth, isFork = false }: ListAt): readonly Step[] => {
    if (depth > MAX_NESTING) {
      report.add("limit", path, `tasks are nested deeper than ${MAX_NESTING}`);
      return [];
    }
    const all = listedIn(list, path);
    count += all.length;
    if (count > MAX_TASKS) {
      if (count - all.length <= MAX_TASKS) report.add("limit", path, `more than ${MAX_TASKS} tasks`);
      return [];
    }
    const steps = all.map((listed, at) => {
      const done = isFork ? [] : all.slice(0, at).map(({ name }) => name);
      const step = readTask({ ...listed, names: { ...names, steps: [...names.steps, ...done] }, depth });
      const targets = { report, all: isFork ? [] : all, at };
      if (step?.then !== undefined) checkTarget(step.then, [...listed.path, "then"], targets);
      if (step?.kind === "switch")
        for (const [index, { name, then }] of step.cases.entries())
          checkTarget(then, [...listed.path, "switch", index, name, "then"], targets);
      return step;
    });
    if (!isFork) checkReach(report, all, steps);
    return steps.filter((step) => step !== undefined);
  };

  /** The word that says of what kind a task is. */
  const wordOf = (task: Readonly<Record<string, unknown>>, path: Path): TaskWord | undefined => {
    const word = words.find((one) => Object.hasOwn(task, one));
    if (word !== undefined) return word;
    const names = Object.keys(task);
    const other = names.find((name) => unsupportedWords.has(name) && name !== "input");
    const misspelt = names.find((name) => nearestWord(name, words) !== undefined && !Object.hasOwn(taskShapes.call.shape, name));
    if (other !== undefined) report.addAtKey("unsupported", [...path, other], `${other} is not supported`);
    else if (misspelt !== undefined) report.addUnknown([...path, misspelt], words);
    else report.addAtKey("missing_key", path, `a task has one of ${words.join(", ")}`);
    return undefined;
  };

  const readTask = (at: TaskAt): Step | undefined => {
    const { task, path } = at;
    if (!isObject(task)) {
      report.add("wrong_type", path, "must be a task: a map");
      return undefined;
    }
    const word = wordOf(task, path);
    if (word === undefined) return undefined;
    for (const name of callOptions.filter((one) => Object.hasOwn(task, one)))
      report.addWith("unknown_key", [...path, name], { message: "is not known here", onKey: true, hint: `write metadata.${name}` });
    const { compensate: _undo, onUnknown: _unknown, ...rest } = task;
    const made = readers[word](rest, at);
    return made;
  };

  /** What all tasks have. */
  const baseOf = (
    { if: condition, output, export: exported, timeout, then, metadata }: Partial<TaskText<"set">>,
    { name, path, names }: TaskAt,
  ) => {
    expressions.readValue(output?.as, [...path, "output", "as"], withOutput(names));
    expressions.readValue(exported?.as, [...path, "export", "as"], withOutput(names));
    return withoutUndefined({
      name,
      if: condition === undefined ? undefined : expressions.readExpression(condition, [...path, "if"], names),
      outputAs: output?.as,
      exportAs: exported?.as,
      timeoutMs: timeout === undefined ? undefined : policies.timeoutOf(timeout, [...path, "timeout"]),
      then,
      metadata,
    });
  };

  /** The reader of one kind: `make` gets the task by its shape. What is below a task that misses its shape is looked at all the same. */
  const reader =
    <Word extends TaskWord>(word: Word, make: (task: TaskText<Word>, at: TaskAt) => Step | undefined) =>
    (task: unknown, at: TaskAt): Step | undefined => {
      const parsed = report.parse(taskShapes[word] as never, task, at.path) as TaskText<Word> | undefined;
      if (parsed !== undefined) return make(parsed, at);
      readBelow(task, at);
      return undefined;
    };

  /** Lists of tasks in a task that is wrong itself; of its variables nothing is known. */
  const readBelow = (task: unknown, { path, names, depth }: TaskAt): void => {
    if (!isObject(task)) return;
    const { catch: caught, fork } = task;
    const lists: readonly (readonly [unknown, Path])[] = [
      [task["do"], [...path, "do"]],
      [task["try"], [...path, "try"]],
      [isObject(caught) ? caught["do"] : undefined, [...path, "catch", "do"]],
      [isObject(fork) ? fork["branches"] : undefined, [...path, "fork", "branches"]],
    ];
    const before = report.issues.length;
    for (const [list, place] of lists) if (Array.isArray(list)) readList(list, { path: place, names, depth: depth + 1 });
    const found = report.issues.splice(before);
    report.issues.push(...found.filter(({ code }) => code !== "unknown_variable"));
  };

  const requireTool = (tool: string, path: Path): void => {
    if (foreignCalls.has(tool)) report.add("unsupported", path, `${tool} is not supported: make it a tool of a system`);
    else if (tool.startsWith("workflow.")) report.add("unsupported", path, "a workflow cannot call a workflow");
  };

  const readers: { readonly [Word in TaskWord]: (task: unknown, at: TaskAt) => Step | undefined } = {
    call: reader("call", (task, at) => {
      const { path, names } = at;
      const base = baseOf(task, at);
      const metadata: Path = [...path, "metadata"];
      for (const name of Object.keys(task.metadata ?? {}))
        if (!callOptions.includes(name) && nearestWord(name, callOptions) !== undefined)
          report.addUnknown([...metadata, name], callOptions);
      if (task.call === "human.task") {
        for (const name of callOptions)
          if (task.metadata?.[name] !== undefined) report.addAtKey("unsupported", [...metadata, name], "a task of people has none");
        const human = readHuman({ report, expressions }, task.with, { path: [...path, "with"], names });
        return human && { ...base, ...human };
      }
      requireTool(task.call, [...path, "call"]);
      expressions.readValue(task.with, [...path, "with"], names);
      const { compensate, onUnknown = "ask" } = task.metadata ?? {};
      if (compensate !== undefined) {
        const undo = [...metadata, "compensate"];
        requireTool(compensate.call, [...undo, "call"]);
        if (compensate.call === "human.task") report.add("unsupported", [...undo, "call"], "people cannot be asked while a run is undone");
        expressions.readValue(compensate.with, [...undo, "with"], withOutput(names));
      }
      const undone = compensate === undefined ? {} : { compensate: { tool: compensate.call, with: compensate.with } };
      return { ...base, kind: "call", tool: task.call, with: task.with, ...undone, onUnknown };
    }),
    set: reader("set", (task, at) => {
      expressions.readValue(task.set, [...at.path, "set"], at.names);
      return { ...baseOf(task, at), kind: "set", set: task.set };
    }),
    do: reader("do", (task, at) => ({
      ...baseOf(task, at),
      kind: "do",
      steps: readList(task.do, { path: [...at.path, "do"], names: at.names, depth: at.depth + 1 }),
    })),
    raise: reader("raise", (task, at) => ({
      ...baseOf(task, at),
      kind: "raise",
      error: policies.errorOf(task.raise.error, [...at.path, "raise", "error"], at.names),
    })),
    wait: reader("wait", (task, at) => ({ ...baseOf(task, at), kind: "wait", waitMs: task.wait })),
    switch: reader("switch", (task, at) => {
      const path = [...at.path, "switch"];
      const cases = listedIn(task.switch, path).flatMap((listed) => {
        const { when, then } = report.parse(caseShape, listed.task, listed.path) ?? {};
        if (then === undefined) return [];
        if (when === undefined) return [{ ...listed, then }];
        return [{ ...listed, when: expressions.readExpression(when, [...listed.path, "when"], at.names), then }];
      });
      const first = cases.findIndex((one) => !("when" in one));
      const isWhole = cases.length === task.switch.length;
      if (isWhole && first === -1) report.addAtKey("no_default", path, "its last case must have no `when`: else nothing may fit");
      const after = first === -1 ? undefined : cases[first + 1];
      if (after !== undefined) report.addAtKey("unreachable", after.path, "stands behind the case without `when`");
      return { ...baseOf(task, at), kind: "switch", cases: cases.map(({ path: _path, task: _task, ...one }) => one) };
    }),
    fork: reader("fork", (task, at) => ({
      ...baseOf(task, at),
      kind: "fork",
      branches: readList(task.fork.branches, {
        path: [...at.path, "fork", "branches"],
        names: at.names,
        depth: at.depth + 1,
        isFork: true,
      }),
    })),
    for: reader("for", (task, at) => {
      const { path, names } = at;
      const { each, at: index, in: items } = task.for;
      requireVariable(each, [...path, "for", "each"], new Set([index]));
      requireVariable(index, [...path, "for", "at"]);
      const inside = { ...names, locals: { ...names.locals, [each]: "dyn", [index]: "int" } };
      const list = expressions.readExpression(items, [...path, "for", "in"], { ...names, wanted: ["list"] });
      const more = task.while === undefined ? {} : { while: expressions.readExpression(task.while, [...path, "while"], inside) };
      const steps = readList(task.do, { path: [...path, "do"], names: inside, depth: at.depth + 1 });
      return { ...baseOf(task, at), kind: "for", each, at: index, in: list, ...more, steps };
    }),
    try: reader("try", (task, at) => {
      const { path, names, depth } = at;
      const { errors, as, when, exceptWhen, retry, do: handled } = task.catch;
      const caught = [...path, "catch"];
      requireVariable(as, [...caught, "as"]);
      const inside = { ...names, locals: { ...names.locals, [as]: localTypes.error } };
      const condition = (text: string | undefined, member: string) =>
        text === undefined ? undefined : expressions.readExpression(text, [...caught, member], inside);
      const { type, details, ...filter } = errors?.with ?? {};
      return {
        ...baseOf(task, at),
        kind: "try",
        steps: readList(task.try, { path: [...path, "try"], names, depth: depth + 1 }),
        catch: withoutUndefined({
          errors: errors && withoutUndefined({ ...filter, type: type === undefined ? undefined : errorType(type), detail: details }),
          as,
          when: condition(when, "when"),
          exceptWhen: condition(exceptWhen, "exceptWhen"),
          retry: retry === undefined ? undefined : policies.retryOf(retry, [...caught, "retry"], inside),
          steps: readList(handled, { path: [...caught, "do"], names: inside, depth: depth + 1 }),
        }),
      };
    }),
  };
  return { readList };
};

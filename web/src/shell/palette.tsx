import { Modal, TextInput, useMantineColorScheme } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, type NavigateOptions } from "@tanstack/react-router";
import { useEffect, useId, useRef, useState, type KeyboardEvent, type ReactElement } from "react";
import { listDelegations } from "#contract/delegations.ts";
import { listWorkflows } from "#contract/workflows.ts";
import { useClient } from "../api/client-context.ts";
import { systemListQuery } from "../api/systems.ts";
import { toolListQuery } from "../api/tools.ts";
import { useEndpoint } from "../api/use-endpoint.ts";
import { useSession } from "../session/session-context.ts";
import { words } from "../strings/en.ts";
import { paletteWords } from "../strings/palette.ts";
import { visibleText } from "../strings/format.ts";
import { Icon, type IconName } from "../ui/icon.tsx";
import { screenList, screens } from "./screens.ts";
import { useScreens } from "./use-screen.ts";

interface Choice {
  readonly key: string;
  /** The heading that it stands below. */
  readonly kind: string;
  readonly text: string;
  /** Its id or state, by which it is found too. */
  readonly detail?: string;
  readonly icon: IconName;
  readonly run: () => void;
}

const DECISION = /^d_[0-9A-Za-z]{10,40}(\.\d+)?$/;
const DELEGATION = /^delegation:[A-Za-z0-9._~-]{1,180}$/;
/** Provider, instance and operation. */
const TOOL = /^[a-z][a-z0-9-]*\.[a-z][a-z0-9-]*\.[A-Za-z0-9._-]+$/;
const RUN = /^run_[0-9a-z]{10,40}$/i;
const TASK = /^task_[0-9a-z]{10,40}$/i;
const MAX = 30;

const partsOf = (typed: string): readonly string[] =>
  typed
    .toLowerCase()
    .split(/\s+/)
    .filter((part) => part !== "");

const fits = (choice: Choice, typed: string): boolean => {
  const whole = `${choice.text} ${choice.detail ?? ""} ${choice.kind}`.toLowerCase();
  return partsOf(typed).every((part) => whole.includes(part));
};

/** The text with the first thing typed in bold. */
const Found = ({ text, typed }: { readonly text: string; readonly typed: string }): ReactElement => {
  const [part = ""] = partsOf(typed);
  const at = part === "" ? -1 : text.toLowerCase().indexOf(part);
  if (at === -1) return <span>{text}</span>;
  return (
    <span>
      {text.slice(0, at)}
      <strong>{text.slice(at, at + part.length)}</strong>
      {text.slice(at + part.length)}
    </span>
  );
};

type Go = (link: NavigateOptions) => () => void;

/** All that can be gone to or done from anywhere, behind the same questions as the navigation. */
const useChoices = (isOpen: boolean): readonly Choice[] => {
  const may = useScreens();
  const client = useClient();
  const navigate = useNavigate();
  const { subject } = useSession();
  const { setColorScheme } = useMantineColorScheme();
  const tools = useQuery({ ...toolListQuery(client), enabled: isOpen && may.tools === "allowed" });
  const held = useQuery({
    ...useEndpoint(listDelegations).query({ query: { user_id: subject.id } }),
    enabled: isOpen && may.delegations === "allowed",
  });
  const systems = useQuery({ ...systemListQuery(client), enabled: isOpen && may.systems === "allowed" });
  const workflows = useQuery({
    ...useEndpoint(listWorkflows).query({ query: { limit: 200 } }),
    enabled: isOpen && may.workflows === "allowed",
  });
  const { kinds } = paletteWords;
  const openTo: Go = (link) => () => void navigate(link);
  const command = (key: string, text: string, icon: IconName, run: () => void): Choice => ({ key, kind: kinds.command, text, icon, run });
  const delegations = held.data?.items ?? [];
  return [
    ...screenList
      .filter((screen) => may[screen.id] === "allowed")
      .map(({ id, label, icon, path }) => ({ key: id, kind: kinds.screen, text: label, icon, run: openTo({ to: path }) })),
    ...(tools.data?.tools ?? []).map(({ name, title }) => ({
      key: `tool ${name}`,
      kind: kinds.tool,
      text: visibleText(title ?? name),
      ...(title === undefined ? {} : { detail: visibleText(name) }),
      icon: screens.tools.icon,
      run: openTo({ to: "/tools/$name", params: { name } }),
    })),
    ...(systems.data?.systems ?? []).map(({ name, title }) => ({
      key: `system ${name}`,
      kind: kinds.system,
      text: visibleText(title ?? name),
      ...(title === undefined ? {} : { detail: visibleText(name) }),
      icon: screens.systems.icon,
      run: openTo({ to: "/systems/$name", params: { name } }),
    })),
    ...(workflows.data?.items ?? []).map(({ name, title }) => ({
      key: `workflow ${name}`,
      kind: kinds.workflow,
      text: visibleText(title || name),
      detail: visibleText(name),
      icon: screens.workflows.icon,
      run: openTo({ to: "/workflows/$name", params: { name } }),
    })),
    ...delegations.map(({ delegation_id: id, purpose, agent_name, agent_id, status }) => ({
      key: id,
      kind: kinds.delegation,
      text: visibleText(paletteWords.delegationTo(purpose, agent_name ?? agent_id)),
      detail: words.common.facts(visibleText(id), words.verdict[status]),
      icon: screens.delegations.icon,
      run: openTo({ to: "/delegations/$id", params: { id } }),
    })),
    ...(may.delegations === "allowed" ? [command("grant", paletteWords.grant, "plus", openTo({ to: "/delegations/new" }))] : []),
    ...delegations
      .filter(({ status }) => status === "active" || status === "paused")
      .map(({ delegation_id: id, purpose }) => ({
        ...command(
          `revoke ${id}`,
          paletteWords.revoke(visibleText(purpose)),
          "cross",
          openTo({ to: "/delegations/$id", params: { id }, search: { act: "revoke" } }),
        ),
        detail: paletteWords.showsFirst,
      })),
    ...(workflows.data?.items ?? [])
      .filter((row) => row.may.start)
      .map(({ name, title }) => ({
        ...command(
          `start ${name}`,
          paletteWords.start(visibleText(title || name)),
          screens.workflows.icon,
          openTo({ to: "/workflows/$name", params: { name }, search: { tab: "start" } }),
        ),
        detail: paletteWords.fillsIn,
      })),
    command("light", paletteWords.themeLight, "sun", () => setColorScheme("light")),
    command("dark", paletteWords.themeDark, "moon", () => setColorScheme("dark")),
    command("auto", paletteWords.themeSystem, "screen", () => setColorScheme("auto")),
  ];
};

/** What a pasted id names, whether or not it is in a list. */
const pastedChoice = (id: string, openTo: Go): Choice | undefined => {
  const { kinds, openId } = paletteWords;
  const open = { key: id, text: openId(id) };
  if (DECISION.test(id))
    return { ...open, kind: kinds.decision, icon: screens.why.icon, run: openTo({ to: "/why/$decisionId", params: { decisionId: id } }) };
  if (DELEGATION.test(id))
    return { ...open, kind: kinds.delegation, icon: screens.delegations.icon, run: openTo({ to: "/delegations/$id", params: { id } }) };
  if (RUN.test(id))
    return { ...open, kind: kinds.run, icon: screens.workflows.icon, run: openTo({ to: "/workflows/runs/$id", params: { id } }) };
  if (TASK.test(id)) return { ...open, kind: kinds.task, icon: screens.tasks.icon, run: openTo({ to: "/tasks/$id", params: { id } }) };
  if (TOOL.test(id))
    return {
      ...open,
      key: `tool ${id}`,
      kind: kinds.tool,
      icon: screens.tools.icon,
      run: openTo({ to: "/tools/$name", params: { name: id } }),
    };
  return undefined;
};

export const Palette = ({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }): ReactElement => {
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const navigate = useNavigate();
  const choices = useChoices(isOpen);
  useEffect(() => {
    if (isOpen) setTyped("");
    setAt(0);
  }, [isOpen]);

  const text = typed.trim();
  const pasted = pastedChoice(text, (link) => () => void navigate(link));
  const isListed = pasted === undefined || choices.some(({ key }) => key === pasted.key);
  const found = [...(isListed ? [] : [pasted]), ...choices.filter((choice) => fits(choice, text))].slice(0, MAX);
  const take = (choice: Choice | undefined): void => {
    if (choice === undefined) return;
    onClose();
    choice.run();
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const next = Math.min(Math.max(at + (event.key === "ArrowDown" ? 1 : -1), 0), Math.max(found.length - 1, 0));
      setAt(next);
      list.current?.querySelectorAll('[role="option"]')[next]?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") {
      event.preventDefault();
      take(found[at]);
    }
  };

  return (
    <Modal opened={isOpen} onClose={onClose} title={paletteWords.title} size="lg" centered={false} yOffset="12vh">
      <TextInput
        data-autofocus
        size="sm"
        label={paletteWords.label}
        value={typed}
        role="combobox"
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={found[at] === undefined ? undefined : `${id}-${at}`}
        onKeyDown={onKey}
        onChange={(event) => {
          setTyped(event.currentTarget.value);
          setAt(0);
        }}
      />
      <div className="sp-palette-list" role="listbox" id={`${id}-list`} aria-label={paletteWords.title} ref={list}>
        {[...Map.groupBy(found.entries(), ([, { kind }]) => kind)].map(([kind, rows]) => (
          <div key={kind} role="group" aria-label={kind}>
            <p aria-hidden="true">{kind}</p>
            {rows.map(([index, choice]) => (
              <div
                key={choice.key}
                id={`${id}-${index}`}
                role="option"
                aria-selected={index === at}
                onClick={() => take(choice)}
                onMouseMove={() => setAt(index)}
              >
                <Icon name={choice.icon} />
                <Found text={choice.text} typed={text} />
                <span className="sp-spring" />
                <span className="sp-small sp-dim">{choice.detail}</span>
              </div>
            ))}
          </div>
        ))}
      </div>
      {found.length === 0 ? <p className="sp-dim">{paletteWords.nothing}</p> : null}
      <p className="sp-palette-foot">
        <span>{paletteWords.keys}</span>
        <span>{paletteWords.paste}</span>
      </p>
    </Modal>
  );
};

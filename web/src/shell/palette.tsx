import { Modal, TextInput, useMantineColorScheme } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useId, useRef, useState, type KeyboardEvent, type ReactElement } from "react";
import { listDelegations } from "#contract/delegations.ts";
import { useClient } from "../api/client-context.ts";
import { systemListQuery } from "../api/systems.ts";
import { toolListQuery } from "../api/tools.ts";
import { useEndpoint } from "../api/use-endpoint.ts";
import { useSession } from "../session/session-context.ts";
import { words } from "../strings/en.ts";
import { visibleText } from "../strings/format.ts";
import { Icon, type IconName } from "../ui/icon.tsx";
import { screenList, screens } from "./screens.ts";
import { useScreens } from "./use-screen.ts";

interface Choice {
  readonly key: string;
  readonly text: string;
  /** What it is found by beside its text. */
  readonly also?: string;
  readonly kind: string;
  readonly icon: IconName;
  readonly run: () => void;
}

const DECISION = /^d_[0-9A-Za-z]{10,40}(\.\d+)?$/;
/** Provider, instance and operation. */
const TOOL = /^[a-z][a-z0-9-]*\.[a-z][a-z0-9-]*\.[A-Za-z0-9._-]+$/;
const MAX = 30;

const fits = (choice: Choice, typed: string): boolean =>
  typed
    .toLowerCase()
    .split(/\s+/)
    .every((part) => `${choice.text} ${choice.also ?? ""} ${choice.kind}`.toLowerCase().includes(part));

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
  const command = (key: string, text: string, icon: IconName, run: () => void): Choice => ({
    key,
    text,
    kind: words.palette.command,
    icon,
    run,
  });
  return [
    ...screenList
      .filter((screen) => may[screen.id] === "allowed")
      .map((screen) => ({
        key: screen.id,
        text: screen.label,
        kind: words.palette.screen,
        icon: screen.icon,
        run: () => void navigate({ to: screen.path }),
      })),
    ...(may.delegations === "allowed"
      ? [command("grant", words.palette.grant, "plus", () => void navigate({ to: "/delegations/new" }))]
      : []),
    ...(tools.data?.tools ?? []).map((tool) => ({
      key: `tool ${tool.name}`,
      text: visibleText(tool.title === undefined ? tool.name : `${tool.name} - ${tool.title}`),
      kind: words.palette.tool,
      icon: "tool" as const,
      run: () => void navigate({ to: "/tools/$name", params: { name: tool.name } }),
    })),
    ...(systems.data?.systems ?? []).map(({ name, title }) => ({
      key: `system ${name}`,
      text: visibleText(title === undefined ? name : `${name} - ${title}`),
      kind: words.palette.system,
      icon: screens.systems.icon,
      run: () => void navigate({ to: "/systems/$name", params: { name } }),
    })),
    ...(held.data?.items ?? []).map((delegation) => ({
      key: delegation.delegation_id,
      text: visibleText(
        words.palette.delegationOf(
          delegation.purpose,
          delegation.agent_name ?? delegation.agent_id,
          words.verdict[delegation.status].toLowerCase(),
        ),
      ),
      also: delegation.delegation_id,
      kind: words.palette.delegation,
      icon: "delegation" as const,
      run: () => void navigate({ to: "/delegations/$id", params: { id: delegation.delegation_id } }),
    })),
    command("light", words.palette.themeLight, "sun", () => setColorScheme("light")),
    command("dark", words.palette.themeDark, "moon", () => setColorScheme("dark")),
    command("auto", words.palette.themeSystem, "screen", () => setColorScheme("auto")),
  ];
};

export const Palette = ({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }): ReactElement => {
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const id = useId();
  const list = useRef<HTMLUListElement>(null);
  const navigate = useNavigate();
  const choices = useChoices(isOpen);
  useEffect(() => {
    if (isOpen) setTyped("");
    setAt(0);
  }, [isOpen]);

  const text = typed.trim();
  const decision: readonly Choice[] = DECISION.test(text)
    ? [
        {
          key: text,
          text: words.palette.openDecision(text),
          kind: screens.why.label,
          icon: "why",
          run: () => void navigate({ to: "/why/$decisionId", params: { decisionId: text } }),
        },
      ]
    : [];
  // A tool that is not in one's own list has a page too, which says how it stands.
  const named: readonly Choice[] =
    TOOL.test(text) && !choices.some(({ key }) => key === `tool ${text}`)
      ? [
          {
            key: `tool ${text}`,
            text: words.palette.openTool(text),
            kind: words.palette.tool,
            icon: "tool",
            run: () => void navigate({ to: "/tools/$name", params: { name: text } }),
          },
        ]
      : [];
  const found = [...decision, ...named, ...choices.filter((choice) => fits(choice, text))].slice(0, MAX);
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
      list.current?.children[next]?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") {
      event.preventDefault();
      take(found[at]);
    }
  };

  return (
    <Modal opened={isOpen} onClose={onClose} title={words.palette.title} centered={false} yOffset="12vh">
      <TextInput
        data-autofocus
        size="sm"
        label={words.palette.label}
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
      <ul className="sp-palette-list" role="listbox" id={`${id}-list`} aria-label={words.palette.title} ref={list}>
        {found.map((choice, index) => (
          <li
            key={choice.key}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === at}
            onClick={() => take(choice)}
            onMouseMove={() => setAt(index)}
          >
            <Icon name={choice.icon} />
            <span>{choice.text}</span>
            <span className="sp-spring" />
            <span className="sp-small sp-dim">{choice.kind}</span>
          </li>
        ))}
      </ul>
      {found.length === 0 ? <p className="sp-dim">{words.palette.nothing}</p> : null}
    </Modal>
  );
};

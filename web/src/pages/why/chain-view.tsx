import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { DecisionRecord } from "#contract/decisions.ts";
import { whyWords } from "../../strings/why.ts";
import { visibleText } from "../../strings/format.ts";
import { Icon, type IconName } from "../../ui/icon.tsx";
import { Panel } from "../../ui/panel.tsx";
import { chainOf, type ChainLink, type ChainNode, type LinkState } from "./chain.ts";

const icons: Readonly<Record<ChainNode["role"], IconName>> = {
  person: "person",
  agent: "agent",
  delegation: "delegation",
  tool: "tool",
  app: "app",
};

const linkIcons: Readonly<Record<LinkState, IconName>> = { holds: "check", broken: "cross", unknown: "question" };

const NodeName = ({ node }: { readonly node: ChainNode }): ReactElement => {
  const text = visibleText(node.name ?? node.id);
  if (node.role === "delegation")
    return (
      <Link className="sp-link sp-mono" to="/delegations/$id" params={{ id: node.id }}>
        {text}
      </Link>
    );
  return <span className="sp-mono">{text}</span>;
};

const LinkMark = ({ link }: { readonly link: ChainLink }): ReactElement => (
  <div className="sp-chain-link" data-state={link.state}>
    <span>
      <Icon name={linkIcons[link.state]} size={13} /> {whyWords.link[link.state]}
    </span>
    {link.kinds.length === 0 ? null : <span className="sp-mono sp-order-last">{link.kinds.join(", ")}</span>}
  </div>
);

/** Person, agent, delegation, tool, application in a row; a missing link has an icon, a word and a colour. */
export const ChainView = ({ record }: { readonly record: DecisionRecord }): ReactElement | null => {
  const chain = chainOf(record);
  if (chain === undefined) return null;
  const roleOf = (node: ChainNode): string =>
    node.role === "tool" && record.resource.type !== "tool" ? visibleText(record.resource.type) : whyWords.roles[node.role];
  return (
    <Panel title={whyWords.chain}>
      <ol className="sp-chain">
        {chain.nodes.map((node, index) => {
          const link = chain.links[index];
          return (
            <li key={`${node.role} ${node.id}`}>
              <div className="sp-chain-node">
                <div className="sp-small sp-dim">
                  <Icon name={icons[node.role]} size={13} /> {roleOf(node)}
                </div>
                <NodeName node={node} />
              </div>
              {link === undefined ? null : <LinkMark link={link} />}
            </li>
          );
        })}
      </ol>
    </Panel>
  );
};

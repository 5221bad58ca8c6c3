import { Kbd, Modal, Switch } from "@mantine/core";
import { useState, type ReactElement } from "react";
import { helpWords } from "../strings/palette.ts";
import { screenList } from "./screens.ts";
import { areSingleKeysOn, setSingleKeys } from "./use-keys.ts";

/** Every key that does something, each screen by the letter that it has. */
const rows: readonly (readonly [keys: string, meaning: string])[] = [
  ...helpWords.everywhere,
  ...screenList.map(({ letter, label }) => [`g ${letter}`, label] as const),
  ...helpWords.onPage,
];

export const HelpDialog = ({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }): ReactElement => {
  const [isOn, setOn] = useState(areSingleKeysOn);
  return (
    <Modal opened={isOpen} onClose={onClose} title={helpWords.title}>
      <div className="sp-stack">
        <dl className="sp-keys">
          {rows.map(([keys, meaning]) => (
            <div key={keys} style={{ display: "contents" }}>
              <dt>
                <Kbd>{keys}</Kbd>
              </dt>
              <dd>{meaning}</dd>
            </div>
          ))}
        </dl>
        <Switch
          checked={isOn}
          label={helpWords.single}
          description={helpWords.singleHint}
          onChange={(event) => {
            setOn(event.currentTarget.checked);
            setSingleKeys(event.currentTarget.checked);
          }}
        />
      </div>
    </Modal>
  );
};

// The operations to add a node from, searchable.
import { useEffect, useState } from "react";
import { api } from "../api/client";
import type { PaletteItem } from "../api/contract";
import { Choices } from "../design/Choices";
import { Dialog } from "../design/Dialog";
import { Failed, Loading } from "../design/States";

const GROUPS: Record<PaletteItem["group"], string> = {
  model: "Model",
  code: "Code",
  http: "HTTP",
  transform: "Lists",
  features: "Features",
  io: "Response",
  human: "People",
  tools: "Tools",
};

interface PaletteProps {
  onClose: () => void;
  onChoose: (item: PaletteItem) => void;
}

export function Palette({ onClose, onChoose }: PaletteProps) {
  const [items, setItems] = useState<PaletteItem[] | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    api.palette().then(setItems, setError);
  }, []);
  return (
    <Dialog title="Add a node" onClose={onClose}>
      {error !== null && <Failed error={error} />}
      {items === null && error === null && <Loading what="Loading operations" />}
      {items !== null && (
        <Choices
          label="Search operations"
          empty="No operation fits."
          choices={items.map((item) => ({
            id: item.id,
            words: `${item.title} ${item.op ?? ""} ${item.summary} ${GROUPS[item.group]}`,
            group: GROUPS[item.group],
            content: (
              <>
                <strong>{item.title}</strong>
                <span className="detail">{item.summary}</span>
                {item.effects && <span className="badge warn">changes things outside</span>}
              </>
            ),
          }))}
          onChoose={(id) => {
            const item = items.find((each) => each.id === id);
            if (item !== undefined) onChoose(item);
          }}
        />
      )}
    </Dialog>
  );
}

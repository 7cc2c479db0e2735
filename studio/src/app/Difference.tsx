// The text here beside the file on disk, to choose one of them.
import { TextDiff } from "../chat/TextDiff";
import "../chat/chat.css";
import { Button } from "../design/Button";
import { Dialog } from "../design/Dialog";
import type { FlowDocument } from "../document/document";
import { unified } from "../document/drafts";
import { useStore } from "../document/store";

interface DifferenceProps {
  theirs: string;
  document: FlowDocument;
  onClose: () => void;
  onKeep: () => void;
  onTake: () => void;
}

export function Difference({ theirs, document, onClose, onKeep, onTake }: DifferenceProps) {
  const mine = useStore(document.store, (state) => state.text);
  const choose = (action: () => void) => () => {
    onClose();
    action();
  };
  return (
    <Dialog title="What differs" onClose={onClose}>
      <div className="content difference">
        <p className="soft">
          Lines with <code>-</code> are in the file on disk, lines with <code>+</code> are in the text here. Undo brings the
          other text back.
        </p>
        <TextDiff before={unified(theirs)} after={mine} />
        <div className="row wrap">
          <Button onClick={choose(onTake)}>Take the file</Button>
          <Button look="primary" onClick={choose(onKeep)}>
            Keep mine
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

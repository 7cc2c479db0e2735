// All keys on one sheet.
import { Fragment } from "react";
import { Dialog } from "../design/Dialog";
import { SHORTCUTS } from "./shortcuts";

export function HelpSheet({ version, onClose }: { version: string; onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <div className="content help-sheet" tabIndex={0} role="region" aria-label="List of keys">
        {SHORTCUTS.map((group) => (
          <section key={group.title}>
            <h3>{group.title}</h3>
            <dl>
              {group.keys.map(({ keys, does }) => (
                <Fragment key={keys}>
                  <dt>
                    {keys.split(" ").map((key, index) => (
                      <kbd key={index}>{key}</kbd>
                    ))}
                  </dt>
                  <dd>{does}</dd>
                </Fragment>
              ))}
            </dl>
          </section>
        ))}
        <p className="faint">Stave {version}. On a Mac, Ctrl is Command.</p>
      </div>
    </Dialog>
  );
}

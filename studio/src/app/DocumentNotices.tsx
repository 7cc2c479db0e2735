// What there is to say about the open flows: text that is not saved, files that changed, drafts that came back, edits
// that were refused. It is below the page and covers nothing; what is over leaves by itself.
import { useEffect, useState } from "react";
import { Button } from "../design/Button";
import { Prose } from "../design/Prose";
import { Notice } from "../design/States";
import type { FlowDocument, Refusal } from "../document/document";
import { useStore } from "../document/store";
import { moment } from "../run/amounts";
import { Difference } from "./Difference";
import { openDocuments } from "./openDocument";
import { address } from "./route";

/** How long the reason of a refusal stays, unless somebody is reading it. */
const PASSING_MS = 20_000;

export function DocumentNotices({ shown }: { shown: string | null }) {
  const documents = useStore(openDocuments.store, (state) => state.documents);
  const said = documents.map((document) => (
    <Notices key={document.state.path} document={document} isShown={document.state.path === shown} />
  ));
  return <>{said}</>;
}

function Notices({ document, isShown }: { document: FlowDocument; isShown: boolean }) {
  const failure = useStore(document.store, (state) => state.failure);
  const conflict = useStore(document.store, (state) => state.conflict);
  const restored = useStore(document.store, (state) => state.restored);
  const refusal = useStore(document.store, (state) => (isShown ? state.refusal : null));
  if (failure === null && conflict === null && refusal === null && (restored === null || !isShown)) return null;
  return (
    <section className="document-notices" aria-label={`Notices about ${document.state.path}`}>
      {failure !== null && conflict === null && <NotSaved document={document} isShown={isShown} />}
      {conflict !== null && <Changed document={document} isShown={isShown} />}
      {conflict === null && restored !== null && isShown && <Back document={document} at={restored.at} />}
      {refusal !== null && <Refused key={refusal.message} document={document} refusal={refusal} />}
    </section>
  );
}

function NotSaved({ document, isShown }: { document: FlowDocument; isShown: boolean }) {
  const failure = useStore(document.store, (state) => state.failure);
  const drafted = useStore(document.store, (state) => state.drafted);
  return (
    <Notice
      tone="bad"
      actions={
        <Button small onClick={() => void document.save()}>
          Try again
        </Button>
      }
    >
      <p>
        {isShown ? "Not saved." : <FlowLink path={document.state.path} />}{!isShown && " is not saved."} {failure?.message}
      </p>
      <p className="soft">
        {failure?.retrying === true ? "Saving is tried again until it succeeds. " : "It is saved when the text changes. "}
        {drafted
          ? "Until then this browser keeps the text."
          : "This browser has no room for the text: leave this page open."}
      </p>
    </Notice>
  );
}

function Changed({ document, isShown }: { document: FlowDocument; isShown: boolean }) {
  const conflict = useStore(document.store, (state) => state.conflict);
  const restored = useStore(document.store, (state) => state.restored);
  const [differing, setDiffering] = useState(false);
  const { path } = document.state;
  if (conflict === null) return null;
  const { theirs } = conflict;
  if (!isShown) {
    return (
      <Notice tone="warn">
        <FlowLink path={path} /> changed on disk, and has text that is not saved. Nothing was overwritten.
      </Notice>
    );
  }
  const keep = () => void document.settle("mine");
  const take = () => void document.settle("theirs");
  return (
    <>
      <Notice
        tone="warn"
        actions={
          <>
            {theirs !== null && (
              <>
                <Button small onClick={() => setDiffering(true)}>
                  See the difference
                </Button>
                <Button small onClick={take}>
                  Take the file
                </Button>
              </>
            )}
            <Button small onClick={keep}>
              Keep mine
            </Button>
          </>
        }
      >
        {restored === null
          ? theirs === null
            ? "The file is gone from the disk, and the text here is not saved."
            : "The file changed on disk while you were editing."
          : `Text of ${moment(new Date(restored.at).toISOString(), new Date())} was not saved and is back. ${theirs === null ? "Its file is gone." : "The file changed meanwhile."}`}{" "}
        Nothing was overwritten.
      </Notice>
      {differing && theirs !== null && (
        <Difference theirs={theirs.text} document={document} onClose={() => setDiffering(false)} onKeep={keep} onTake={take} />
      )}
    </>
  );
}

function Back({ document, at }: { document: FlowDocument; at: number }) {
  return (
    <Notice
      actions={
        <>
          <Button small onClick={() => document.acknowledge(false)}>
            Take the file
          </Button>
          <Button small onClick={() => document.acknowledge(true)}>
            Keep it
          </Button>
        </>
      }
    >
      Text of {moment(new Date(at).toISOString(), new Date())} was not saved and is back. The file was still what it was
      made from.
    </Notice>
  );
}

/** The reason of a refusal leaves after a while, unless the pointer or the focus is on it. */
function Refused({ document, refusal }: { document: FlowDocument; refusal: Refusal }) {
  const [isRead, setIsRead] = useState(false);
  useEffect(() => {
    if (isRead) return;
    const timer = setTimeout(() => document.refuse(null), PASSING_MS);
    return () => clearTimeout(timer);
  }, [document, refusal, isRead]);
  return (
    <div
      onMouseEnter={() => setIsRead(true)}
      onMouseLeave={() => setIsRead(false)}
      onFocus={() => setIsRead(true)}
      onBlur={() => setIsRead(false)}
    >
      <Notice
        tone="bad"
        actions={
          <Button small onClick={() => document.refuse(null)}>
            Dismiss
          </Button>
        }
      >
        <p>
          <Prose text={refusal.message} />
        </p>
        {refusal.help !== null && (
          <p className="soft">
            <Prose text={refusal.help} />
          </p>
        )}
        {refusal.findings.map((finding) => (
          <p key={finding} className="soft">
            <Prose text={finding} />
          </p>
        ))}
      </Notice>
    </div>
  );
}

function FlowLink({ path }: { path: string }) {
  return <a href={address({ page: "flow", path })}>{path}</a>;
}

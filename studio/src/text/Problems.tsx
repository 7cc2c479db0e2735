// The findings of the checker as a list: what, where, how to cure it.
import type { Finding } from "../api/contract";
import { Button } from "../design/Button";
import { Icon } from "../design/Icon";
import { Prose } from "../design/Prose";
import { fromEdits } from "../document/changes";
import type { FlowDocument } from "../document/document";
import { ordered } from "../document/findings";
import { useStore } from "../document/store";
import "./text.css";

const TONE = { error: "bad", warning: "warn", note: "info" } as const;
const NONE: Finding[] = [];

export function Problems({ document, readOnly }: { document: FlowDocument; readOnly: boolean }) {
  const findings = useStore(document.store, (state) => state.analysis?.diagnostics ?? NONE);
  if (findings.length === 0) {
    return (
      <p className="no-problems">
        <Icon name="check" /> No problems.
      </p>
    );
  }
  return (
    <ul className="problems scroll" aria-label="Problems">
      {ordered(findings).map((finding) => (
        <li key={`${finding.code}:${finding.offset}:${finding.message}`}>
          <button
            type="button"
            className="problem"
            onClick={() => document.reveal(finding.offset, finding.end_offset, true)}
          >
            <span className={`badge ${TONE[finding.severity]}`}>{finding.severity}</span>
            <span className="message">
              <Prose text={finding.message} />
              {finding.help !== null && (
                <span className="help">
                  <Prose text={finding.help} />
                </span>
              )}
            </span>
            <span className="where">
              <code>{finding.code}</code>
              <span>
                {finding.line}:{finding.column}
              </span>
            </span>
          </button>
          {finding.fix !== null && !readOnly && (
            <Button
              small
              icon="check"
              title={finding.fix.title}
              onClick={() => finding.fix !== null && document.apply(fromEdits(finding.fix.edits), finding.fix.title)}
            >
              <Prose text={finding.fix.title} />
            </Button>
          )}
        </li>
      ))}
    </ul>
  );
}

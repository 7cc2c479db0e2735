// What changes in a text, line by line.
import { hunks } from "./lineDiff";

const SIGN = { same: " ", removed: "-", added: "+" } as const;
const WORD = { same: "", removed: "removed: ", added: "added: " } as const;

export function TextDiff({ before, after }: { before: string; after: string }) {
  const found = hunks(before, after);
  return (
    <div className="text-diff scroll" role="group" aria-label="Changed lines">
      {found.map((hunk, index) => (
        <pre key={index}>
          {hunk.lines.map((line, place) => (
            <div key={place} className={line.kind}>
              <span className="line-number" aria-hidden="true">
                {line.line}
              </span>
              <span aria-hidden="true">{SIGN[line.kind]} </span>
              <span className="visually-hidden">{WORD[line.kind]}</span>
              {line.text}
            </div>
          ))}
        </pre>
      ))}
    </div>
  );
}

// What changes in the flow by its meaning, as the server words it: each line begins with +, - or ~.
import { Prose } from "../design/Prose";

const WORD: Record<string, string> = { "+": "added", "-": "removed", "~": "changed" };

export function SemanticDiff({ shown }: { shown: readonly string[] }) {
  if (shown.length === 0) return <p className="soft">Nothing changes by meaning.</p>;
  return (
    <ul className="semantic-diff" aria-label="What changes">
      {shown.map((line, index) => {
        const sign = line.trimStart().charAt(0);
        const word = WORD[sign];
        return (
          <li key={index} className={`${word ?? "detail"} level-${Math.min(3, Math.floor((line.length - line.trimStart().length) / 2))}`}>
            {word !== undefined && <span className="visually-hidden">{word}: </span>}
            <span aria-hidden="true">{word === undefined ? "" : sign}</span>
            <span>
              <Prose text={word === undefined ? line.trim() : line.trimStart().slice(1).trim()} />
            </span>
          </li>
        );
      })}
    </ul>
  );
}

// What changes in the flow by its meaning, as the server words it: each line begins with +, - or ~.

const WORD: Record<string, string> = { "+": "added", "-": "removed", "~": "changed" };

export function SemanticDiff({ shown }: { shown: readonly string[] }) {
  if (shown.length === 0) return <p className="soft">Nothing changes by meaning.</p>;
  return (
    <ul className="semantic-diff" aria-label="What changes">
      {shown.map((line, index) => {
        const sign = line.trimStart().charAt(0);
        const word = WORD[sign];
        return (
          <li key={index} className={word ?? "detail"}>
            {word !== undefined && <span className="visually-hidden">{word}: </span>}
            <span aria-hidden="true">{word === undefined ? "" : sign}</span>
            <span>{codes(word === undefined ? line.trim() : line.trimStart().slice(1).trim())}</span>
          </li>
        );
      })}
    </ul>
  );
}

/** Names between backticks are code. */
function codes(text: string) {
  return text.split("`").map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part));
}

// A field to search by and a list to choose from, by pointer or by keys.
import { useId, useState, type KeyboardEvent, type ReactNode } from "react";
import "./choices.css";

export interface Choice {
  id: string;
  /** What is searched. */
  words: string;
  group?: string;
  disabled?: boolean;
  content: ReactNode;
}

interface ChoicesProps {
  label: string;
  choices: Choice[];
  onChoose: (id: string) => void;
  empty: string;
}

export function Choices({ label, choices, onChoose, empty }: ChoicesProps) {
  const [search, setSearch] = useState("");
  const [at, setAt] = useState(0);
  const list = useId();
  const found = filtered(choices, search);
  const current = Math.min(at, found.length - 1);

  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0 && found.length > 0) {
      event.preventDefault();
      const next = (current + step + found.length) % found.length;
      setAt(next);
      document.getElementById(`${list}-${next}`)?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") {
      event.preventDefault();
      const choice = found[current];
      if (choice !== undefined && choice.disabled !== true) onChoose(choice.id);
    }
  };

  return (
    <div className="choices">
      <input
        className="field"
        type="search"
        role="combobox"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={found.length === 0 ? undefined : `${list}-${current}`}
        aria-label={label}
        placeholder={label}
        value={search}
        autoFocus
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => {
          setSearch(event.target.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      <ul id={list} role="listbox" aria-label={label} className="scroll">
        {found.map((choice, index) => (
          <li key={choice.id} role="presentation">
            {choice.group !== undefined && choice.group !== found[index - 1]?.group && (
              <div className="group" role="presentation">
                {choice.group}
              </div>
            )}
            <div
              id={`${list}-${index}`}
              role="option"
              aria-selected={index === current}
              aria-disabled={choice.disabled === true}
              className="choice"
              onPointerMove={() => setAt(index)}
              onClick={() => choice.disabled !== true && onChoose(choice.id)}
            >
              {choice.content}
            </div>
          </li>
        ))}
        {found.length === 0 && <li className="none">{empty}</li>}
      </ul>
    </div>
  );
}

/** The choices in which every word of the search occurs. */
export function filtered(choices: readonly Choice[], search: string): Choice[] {
  const words = search.toLowerCase().split(/\s+/).filter((word) => word !== "");
  return choices.filter((choice) => words.every((word) => choice.words.toLowerCase().includes(word)));
}

// One of a few, all of them to be seen, with the keys that people expect: arrows go along, Home and End to the ends.
import type { KeyboardEvent, ReactNode } from "react";

export interface Choice<T extends string> {
  id: T;
  title: ReactNode;
}

interface OneOfProps<T extends string> {
  look: keyof typeof LOOKS;
  label: string;
  choices: readonly Choice<T>[];
  current: T;
  onChange: (choice: T) => void;
}

const LOOKS = {
  tabs: { group: "tablist", each: "tab", groupClass: "tabs", eachClass: "tab", chosen: "aria-selected" },
  segments: { group: "radiogroup", each: "radio", groupClass: "segments", eachClass: "segment", chosen: "aria-checked" },
} as const;

export function OneOf<T extends string>({ look, label, choices, current, onChange }: OneOfProps<T>) {
  const { group, each, groupClass, eachClass, chosen } = LOOKS[look];
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    const at = choices.findIndex((choice) => choice.id === current);
    const next = placeAfter(event.key, at, choices.length);
    const choice = next === null ? undefined : choices[next];
    if (next === null || choice === undefined) return;
    event.preventDefault();
    onChange(choice.id);
    event.currentTarget.querySelectorAll("button")[next]?.focus();
  };
  return (
    <div className={groupClass} role={group} aria-label={label} onKeyDown={onKeyDown}>
      {choices.map((choice) => (
        <button
          key={choice.id}
          type="button"
          role={each}
          className={eachClass}
          {...{ [chosen]: choice.id === current }}
          tabIndex={choice.id === current ? 0 : -1}
          onClick={() => onChange(choice.id)}
        >
          {choice.title}
        </button>
      ))}
    </div>
  );
}

/** Where a key leads from a place among so many; the ends meet. */
function placeAfter(key: string, at: number, count: number): number | null {
  switch (key) {
    case "ArrowRight":
      return (at + 1) % count;
    case "ArrowLeft":
      return (at - 1 + count) % count;
    case "Home":
      return 0;
    case "End":
      return count - 1;
    default:
      return null;
  }
}

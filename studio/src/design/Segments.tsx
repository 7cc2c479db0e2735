// A choice of a few, all of them to be seen.
import type { KeyboardEvent } from "react";

interface SegmentsProps<T extends string> {
  label: string;
  segments: readonly { id: T; title: string }[];
  current: T;
  onChange: (segment: T) => void;
}

export function Segments<T extends string>({ label, segments, current, onChange }: SegmentsProps<T>) {
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const at = segments.findIndex((segment) => segment.id === current);
    const next = (at + step + segments.length) % segments.length;
    const segment = segments[next];
    if (segment === undefined) return;
    onChange(segment.id);
    event.currentTarget.querySelectorAll("button")[next]?.focus();
  };
  return (
    <div className="segments" role="radiogroup" aria-label={label} onKeyDown={onKeyDown}>
      {segments.map((segment) => (
        <button
          key={segment.id}
          type="button"
          role="radio"
          className="segment"
          aria-checked={segment.id === current}
          tabIndex={segment.id === current ? 0 : -1}
          onClick={() => onChange(segment.id)}
        >
          {segment.title}
        </button>
      ))}
    </div>
  );
}

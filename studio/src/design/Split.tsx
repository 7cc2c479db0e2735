// Two panes with a bar between them, moved by pointer or by arrow keys.
import { useRef, useState, type KeyboardEvent, type PointerEvent, type ReactNode } from "react";
import "./split.css";

interface SplitProps {
  label: string;
  direction: "row" | "column";
  /** The share of the first pane at the beginning, 0 to 1. */
  initial: number;
  first: ReactNode;
  second: ReactNode;
}

const LEAST = 0.12;
const STEP = 0.03;

export function Split({ label, direction, initial, first, second }: SplitProps) {
  const [share, setShare] = useState(initial);
  const frame = useRef<HTMLDivElement>(null);
  const set = (value: number) => setShare(Math.min(1 - LEAST, Math.max(LEAST, value)));

  const onPointerMove = (event: PointerEvent) => {
    const box = frame.current?.getBoundingClientRect();
    if (box === undefined || event.buttons !== 1) return;
    set(direction === "row" ? (event.clientX - box.left) / box.width : (event.clientY - box.top) / box.height);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const back = direction === "row" ? "ArrowLeft" : "ArrowUp";
    const forth = direction === "row" ? "ArrowRight" : "ArrowDown";
    if (event.key !== back && event.key !== forth) return;
    event.preventDefault();
    set(share + (event.key === forth ? STEP : -STEP));
  };

  return (
    <div className={`split ${direction === "row" ? "across" : "down"}`} ref={frame}>
      <div className="pane" style={{ flexBasis: `${share * 100}%` }}>
        {first}
      </div>
      <div
        className="bar"
        role="separator"
        tabIndex={0}
        aria-label={label}
        aria-orientation={direction === "row" ? "vertical" : "horizontal"}
        aria-valuenow={Math.round(share * 100)}
        aria-valuemin={LEAST * 100}
        aria-valuemax={100 - LEAST * 100}
        onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
        onPointerMove={onPointerMove}
        onKeyDown={onKeyDown}
      />
      <div className="pane rest">{second}</div>
    </div>
  );
}

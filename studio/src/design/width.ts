// How much room there is, in three steps.
import { useSyncExternalStore } from "react";

export type Width = "narrow" | "middle" | "wide";

const WIDE = window.matchMedia("(min-width: 1700px)");
const MIDDLE = window.matchMedia("(min-width: 900px)");

export function useWidth(): Width {
  return useSyncExternalStore(
    (tell) => {
      WIDE.addEventListener("change", tell);
      MIDDLE.addEventListener("change", tell);
      return () => {
        WIDE.removeEventListener("change", tell);
        MIDDLE.removeEventListener("change", tell);
      };
    },
    () => (WIDE.matches ? "wide" : MIDDLE.matches ? "middle" : "narrow"),
  );
}

// How much room there is, in three steps.
import { useSyncExternalStore } from "react";

export type Width = "narrow" | "middle" | "wide";

const WIDE = window.matchMedia("(min-width: 1700px)");
const MIDDLE = window.matchMedia("(min-width: 900px)");
const UPRIGHT = window.matchMedia("(max-width: 640px)");

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

/** Whether the screen is so slim that what goes from left to right elsewhere goes from top to bottom. */
export function useUpright(): boolean {
  return useSyncExternalStore(
    (tell) => {
      UPRIGHT.addEventListener("change", tell);
      return () => UPRIGHT.removeEventListener("change", tell);
    },
    () => UPRIGHT.matches,
  );
}

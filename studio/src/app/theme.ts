// Light or dark: the system's choice until a person chooses.
import { useState } from "react";

export type Theme = "system" | "light" | "dark";

const NAME = "stave.theme";
const ORDER: Theme[] = ["system", "light", "dark"];

function stored(): Theme {
  const value = localStorage.getItem(NAME);
  return value === "light" || value === "dark" ? value : "system";
}

export function applyTheme(theme: Theme = stored()): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function useTheme(): [Theme, () => void] {
  const [theme, setTheme] = useState<Theme>(stored);
  const next = () => {
    const chosen = ORDER[(ORDER.indexOf(theme) + 1) % ORDER.length] ?? "system";
    localStorage.setItem(NAME, chosen);
    applyTheme(chosen);
    setTheme(chosen);
  };
  return [theme, next];
}

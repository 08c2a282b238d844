// Dark or light, as the system has it or as somebody has chosen.
export const THEMES = ["auto", "dark", "light"] as const;
export type Theme = (typeof THEMES)[number];

const KEPT = "rocketconnect.theme";

export function theme(): Theme {
  const kept = localStorage.getItem(KEPT) as Theme;
  return THEMES.includes(kept) ? kept : "auto";
}

export function chooseTheme(next: Theme): void {
  localStorage.setItem(KEPT, next);
  showTheme();
}

export function showTheme(): void {
  const chosen = theme();
  if (chosen === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = chosen;
}

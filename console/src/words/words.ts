// Texts for people, in the language that they have chosen, or that their browser speaks.
import en from "./en.json";
import zh from "./zh.json";

export type Word = keyof typeof en;
export const LANGUAGES = { en, zh } satisfies Record<string, Record<Word, string>>;
export type Language = keyof typeof LANGUAGES;

const KEPT = "rocketconnect.language";
/** What `Intl` is told. */
const LOCALES: Record<Language, string> = { en: "en-GB", zh: "zh-CN" };

let language: Language = chosen();

function chosen(): Language {
  const kept = localStorage.getItem(KEPT);
  if (kept === "en" || kept === "zh") return kept;
  return navigator.languages.find((each) => /^(en|zh)\b/i.test(each))?.toLowerCase().startsWith("zh") ? "zh" : "en";
}

export function currentLanguage(): Language {
  return language;
}

export function chooseLanguage(next: Language): void {
  language = next;
  localStorage.setItem(KEPT, next);
}

/** The text, with what stands in its braces. */
export function t(word: Word, given: Record<string, string | number> = {}): string {
  return LANGUAGES[language][word].replace(/\{(\w+)\}/g, (whole, name: string) => String(given[name] ?? whole));
}

export function number(value: number): string {
  const form: Intl.NumberFormatOptions =
    Math.abs(value) >= 100_000 ? { notation: "compact", maximumFractionDigits: 1 } : { maximumFractionDigits: value < 10 ? 1 : 0 };
  return new Intl.NumberFormat(LOCALES[language], form).format(value);
}

/** All its digits, where one more or less matters. */
export function exact(value: number): string {
  return new Intl.NumberFormat(LOCALES[language]).format(value);
}

export function bytes(value: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let step = 0;
  while (value >= 1024 && step < units.length - 1) {
    value /= 1024;
    step += 1;
  }
  return `${number(value)} ${units[step]}`;
}

/** A time of the API, or of this machine, as a date and a time of day here. */
export function moment(time: string | number): string {
  return new Intl.DateTimeFormat(LOCALES[language], { dateStyle: "medium", timeStyle: "medium" }).format(new Date(time));
}

/** How long ago that was. */
export function ago(time: string | number): string {
  const seconds = (new Date(time).getTime() - Date.now()) / 1000;
  const form = new Intl.RelativeTimeFormat(LOCALES[language], { numeric: "auto", style: "short" });
  for (const [unit, size] of [["day", 86_400], ["hour", 3600], ["minute", 60]] as const) {
    if (-seconds >= size) return form.format(Math.trunc(seconds / size), unit);
  }
  return form.format(Math.min(0, Math.trunc(seconds)), "second");
}

document.documentElement.lang = LOCALES[language];

// A configuration as text: JSON, which can be edited, and what `rocketconnect apply` reads. Pure.
import { CLASS, type Config } from "./form.ts";

/** What YAML takes for a text, or for something that is read as it is written. */
const PLAIN = /^[A-Za-z0-9/$(][A-Za-z0-9_./$(){}:@+=*,-]*$/;
const UNPRINTED = /[\u007f-\u009f\u2028\u2029\ufeff]/g;

export type Read =
  | { config: Config; name?: string }
  /** It is no JSON (`at`: why), no object, or has a value that is no text (`at`: of which key). */
  | { wrong: "json" | "object" | "value"; at: string };

export function asJson(config: Config): string {
  return JSON.stringify(config, null, 2);
}

/** A configuration as somebody has written it: the options alone, or with a name, as `connector get -o json` prints them. */
export function readJson(text: string): Read {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch (error) {
    return { wrong: "json", at: (error as Error).message };
  }
  if (!isObject(read)) return { wrong: "object", at: "" };
  const whole = isObject(read["config"]) ? read["config"] : read;
  const entries = Object.entries(whole);
  // A number that JavaScript changes as it reads it is none that somebody meant.
  const isPlain = (value: unknown) =>
    typeof value === "string" || typeof value === "boolean" || Number.isSafeInteger(value);
  const odd = entries.find(([, value]) => !isPlain(value));
  if (odd) return { wrong: "value", at: odd[0] };
  const config = Object.fromEntries(entries.map(([key, value]) => [key, String(value)]));
  return { config, ...(whole !== read && typeof read["name"] === "string" && { name: read["name"] }) };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A file for `rocketconnect apply`. */
export function asYaml(name: string, config: Config): string {
  const { [CLASS]: plugin, ...others } = config;
  const lines = Object.entries(plugin === undefined ? others : { [CLASS]: plugin, ...others });
  if (!lines.length) return `name: ${scalar(name)}\nconfig: {}\n`;
  return [
    `name: ${scalar(name)}`,
    "config:",
    ...lines.map(([key, value]) => `  ${scalar(key)}: ${scalar(value)}`),
    "",
  ].join("\n");
}

function scalar(text: string): string {
  if (PLAIN.test(text) && !text.endsWith(":") && text.toLowerCase() !== "null") return text;
  return JSON.stringify(text).replace(UNPRINTED, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

// What of a draft outlives a reload of the page, as the text that the tab keeps: no secret, and nothing that is no draft. Pure.
import { type Connector, type Wanted, WANTED } from "./connectors.ts";
import { type Config, literals, otherKeys, REFERENCE, type Section } from "./form.ts";

export interface Draft {
  name: string;
  config: Config;
  reason: string;
  wanted: Wanted;
  /** The uid of a deleted connector whose positions it takes over. */
  adopt: string;
  /** The JSON as it is being typed, while it is none yet. */
  typed: string | null;
  /** What is changed; undefined: something new is made. */
  base?: Connector;
}

export interface Restored {
  draft: Draft;
  /** Options whose values were not kept, as they are, or may be, secrets. */
  left: string[];
}

/** Longer drafts are not kept: a tab has a few megabytes for all of them. */
const MOST = 262_144;
/** How options of secrets are called, where nobody knows what a key means. */
const SECRETIVE = /pass|pwd|secret|token|credential|(^|[._-])(api|access|private|sas)[._-]?key/i;
/** A login in the address of something. */
const LOGIN = /:\/\/[^\s/:@]*:[^\s/@]+@/;
const REFERENCES = new RegExp(REFERENCE.source, "g");

/** The text; null: it is too long. Text that is no JSON yet is not in it: who knows what it holds. */
export function keptText(draft: Draft, sections: readonly Section[]): string | null {
  const unknown = otherKeys(draft.config, sections).filter((each) => SECRETIVE.test(each));
  const open = unknown.filter((each) => !REFERENCE.test(draft.config[each] ?? ""));
  const logins = Object.keys(draft.config).filter((each) => LOGIN.test((draft.config[each] ?? "").replace(REFERENCES, "")));
  const left = [...new Set([...literals(draft.config, sections), ...open, ...logins])];
  // An option of several names is left out by any of them.
  const secret = new Set([...left, ...aliasesOf(left, sections)]);
  const config = Object.fromEntries(Object.entries(draft.config).filter(([key]) => !secret.has(key)));
  const text = JSON.stringify({ draft: { ...draft, config, typed: null }, left });
  return text.length > MOST ? null : text;
}

function aliasesOf(keys: readonly string[], sections: readonly Section[]): string[] {
  return sections
    .flatMap((each) => each.fields)
    .filter((each) => keys.includes(each.key))
    .flatMap((each) => each.aliases);
}

/** What was kept; null: nothing that can be used. */
export function readKept(text: string | null): Restored | null {
  try {
    const { draft, left } = JSON.parse(text ?? "") as { draft?: Partial<Draft>; left?: unknown };
    if (!draft || !isConfig(draft.config) || !WANTED.includes(draft.wanted as Wanted)) return null;
    if (![draft.name, draft.reason, draft.adopt].every((each) => typeof each === "string")) return null;
    if (draft.base !== undefined && !isConfig(draft.base?.config)) return null;
    return { draft: { ...(draft as Draft), typed: null }, left: Array.isArray(left) ? left.map(String) : [] };
  } catch {
    return null;
  }
}

function isConfig(value: unknown): value is Config {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject && Object.values(value).every((each) => typeof each === "string");
}

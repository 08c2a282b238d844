// What somebody has typed and nobody has stored yet. It stays while the tab does: another language, a new token, a look at another
// page and a reload leave it as it is, but for what may be a secret.
import { useEffect, useState } from "preact/hooks";

import type { Connector } from "../../model/connectors.ts";
import { readJson } from "../../model/documents.ts";
import { type Draft, keptText, readKept } from "../../model/drafts.ts";
import { type Config, type Plugin, sectionsOf } from "../../model/form.ts";

export type { Draft };

const KEPT = "rocketconnect.draft.";

const drafts = new Map<string, Draft>();
/** By key what was looked for in the tab: what was not kept of it; null: nothing was there, or it is gone. */
const restored = new Map<string, string[] | null>();

function warn(event: BeforeUnloadEvent): void {
  if (drafts.size) event.preventDefault();
}

export function newDraft(config: Config, base?: Connector): Draft {
  return { name: base?.name ?? "", config, reason: "", wanted: "RUNNING", adopt: "", typed: null, ...(base && { base }) };
}

/** Whether the JSON is being typed, and none yet. */
export function isBroken(draft: Draft): boolean {
  return draft.typed !== null && "wrong" in readJson(draft.typed);
}

function restore(key: string): void {
  if (restored.has(key)) return;
  const found = drafts.has(key) ? null : readKept(sessionStorage.getItem(KEPT + key));
  restored.set(key, found && found.left);
  if (found) drafts.set(key, found.draft);
}

function keep(key: string, draft: Draft, plugins: readonly Plugin[]): void {
  // What is a secret only the plugins say.
  const text = plugins.length ? keptText(draft, sectionsOf(plugins, draft.config)) : null;
  try {
    if (text === null) sessionStorage.removeItem(KEPT + key);
    else sessionStorage.setItem(KEPT + key, text);
  } catch {
    // The tab has no room for more: an older text would restore what is not so any more.
    sessionStorage.removeItem(KEPT + key);
  }
}

export interface Drafting {
  draft: Draft;
  change: (part: Partial<Draft>) => void;
  drop: () => void;
  /** It is one from before a reload: options that were not kept; null: it is none. */
  restored: string[] | null;
}

/** The draft that has this key, else `first`; how to change parts of it, and how to drop it. */
export function useDraft(key: string, first: Draft, plugins: readonly Plugin[]): Drafting {
  const [, setRound] = useState(0);
  useEffect(() => {
    addEventListener("beforeunload", warn);
    return () => removeEventListener("beforeunload", warn);
  }, []);
  restore(key);
  const again = () => setRound((before) => before + 1);
  const change = (part: Partial<Draft>) => {
    const next = { ...(drafts.get(key) ?? first), ...part };
    drafts.set(key, next);
    keep(key, next, plugins);
    again();
  };
  const drop = () => {
    drafts.delete(key);
    restored.set(key, null);
    sessionStorage.removeItem(KEPT + key);
    again();
  };
  return { draft: drafts.get(key) ?? first, change, drop, restored: restored.get(key) ?? null };
}

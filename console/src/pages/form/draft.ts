// What somebody has typed and nobody has stored yet. It stays while the page does: another language, a new token and a look at
// another page leave it as it is.
import { useEffect, useState } from "preact/hooks";

import type { Connector, Wanted } from "../../model/connectors.ts";
import { readJson } from "../../model/documents.ts";
import type { Config } from "../../model/form.ts";

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

const kept = new Map<string, Draft>();

function warn(event: BeforeUnloadEvent): void {
  if (kept.size) event.preventDefault();
}

export function newDraft(config: Config, base?: Connector): Draft {
  return { name: base?.name ?? "", config, reason: "", wanted: "RUNNING", adopt: "", typed: null, ...(base && { base }) };
}

/** Whether the JSON is being typed, and none yet. */
export function isBroken(draft: Draft): boolean {
  return draft.typed !== null && "wrong" in readJson(draft.typed);
}

/** The draft that has this key, else `first`; how to change parts of it, and how to drop it. */
export function useDraft(key: string, first: Draft): [Draft, (part: Partial<Draft>) => void, () => void] {
  const [, setRound] = useState(0);
  useEffect(() => {
    addEventListener("beforeunload", warn);
    return () => removeEventListener("beforeunload", warn);
  }, []);
  const again = () => setRound((before) => before + 1);
  const change = (part: Partial<Draft>) => {
    kept.set(key, { ...(kept.get(key) ?? first), ...part });
    again();
  };
  const drop = () => {
    kept.delete(key);
    again();
  };
  return [kept.get(key) ?? first, change, drop];
}

// Asks again and again, as somebody types, what is wrong with a configuration.
import { useEffect, useState } from "preact/hooks";

import { ask, Away, Refused, type Schemas, segment } from "../../api/client.ts";
import type { Config } from "../../model/form.ts";
import type { Told } from "../../model/problems.ts";
import { signedOut } from "../../model/session.ts";
import { t } from "../../words/words.ts";

export interface Check {
  problems: Told[];
  warnings: Told[];
  /** What is to be expected of the connector. */
  notes: string[];
  /** It is not known yet of what is there now. */
  pending: boolean;
  /** Nobody is asked. */
  off: boolean;
  /** Why it is not known. */
  trouble?: Away | Refused;
}

export interface Checked {
  config: Config;
  name: string;
  /** It is to get this name, so nobody else may have it. */
  isNew: boolean;
  /** Whether to ask at all. */
  may: boolean;
}

const AFTER_MS = 400;
const AGAIN_MS = 3000;

type Known = Omit<Check, "pending" | "off"> & { of: string };

const NOTHING = { problems: [], warnings: [], notes: [] };

export function useCheck({ config, name, isNew, may }: Checked): Check {
  const [known, setKnown] = useState<Known>({ ...NOTHING, of: "" });
  const of = JSON.stringify([config, name]);
  useEffect(() => {
    if (!may) return;
    const ending = new AbortController();
    let timer = 0;
    const run = async () => {
      try {
        const found = await check(config, name, isNew, ending.signal);
        if (!ending.signal.aborted) setKnown({ ...found, of });
      } catch (error) {
        if (ending.signal.aborted) return;
        if (!(error instanceof Away || error instanceof Refused)) throw error;
        if (error instanceof Refused && error.problem.status === 401) signedOut();
        setKnown((before) => ({ ...before, trouble: error }));
        timer = window.setTimeout(() => void run(), AGAIN_MS);
      }
    };
    timer = window.setTimeout(() => void run(), AFTER_MS);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [of, isNew, may]);
  return may ? { ...known, pending: known.of !== of, off: false } : { ...NOTHING, pending: false, off: true };
}

async function check(config: Config, name: string, isNew: boolean, signal: AbortSignal): Promise<Omit<Known, "of">> {
  const [answer, taken] = await Promise.all([
    ask<Schemas["config.ValidateConnectorResponse"]>("v1/connectors:validate", {
      method: "POST",
      body: { config, name },
      signal,
    }),
    isNew && name ? isThere(name, signal) : false,
  ]);
  const { problems = [], warnings = [], notes = [] } = answer;
  return {
    problems: taken ? [{ key: "name", value: name, reason: t("create.exists", { name }), fix: "" }, ...problems] : problems,
    warnings,
    notes,
  };
}

async function isThere(name: string, signal: AbortSignal): Promise<boolean> {
  try {
    await ask(`v1/connectors/${segment(name)}`, { signal });
    return true;
  } catch (error) {
    if (error instanceof Refused) return false;
    throw error;
  }
}

// Two people change one configuration. Pure.
import type { Config } from "./form.ts";

export interface Merged {
  config: Config;
  /** Keys that both have changed, and not to the same: what is mine stands there. */
  both: string[];
}

/** What is mine upon what somebody else has stored meanwhile: each key as the one has it who has changed it. */
export function merged(base: Config, mine: Config, theirs: Config): Merged {
  const keys = [...new Set([...Object.keys(theirs), ...Object.keys(mine)])];
  // Every object has a "constructor" that nobody has written.
  const of = (config: Config, key: string) => (Object.hasOwn(config, key) ? config[key] : undefined);
  const isMine = (key: string) => of(mine, key) !== of(base, key);
  const values = keys.map((key) => [key, of(isMine(key) ? mine : theirs, key)] as const);
  return {
    config: Object.fromEntries(values.filter((each): each is [string, string] => each[1] !== undefined)),
    both: keys.filter((key) => isMine(key) && of(theirs, key) !== of(base, key) && of(theirs, key) !== of(mine, key)),
  };
}

// What is wrong with a configuration, at the fields that it is about. Pure.
import type { Schemas } from "../api/client.ts";
import { type Config, otherKeys, type Section } from "./form.ts";

export type Told = Schemas["connector.Problem"];

export interface Placed {
  /** By the key of a field, or by one that no field has. */
  at: ReadonlyMap<string, Told[]>;
  /** Of the configuration as a whole, and of what is not there. */
  others: Told[];
}

/** Each of them at its field, whichever of its keys it is told under. */
export function placed(problems: readonly Told[], sections: readonly Section[], config: Config): Placed {
  const fields = sections.flatMap((each) => each.fields);
  const places = new Map([
    ...otherKeys(config, sections).map((each) => [each, each] as const),
    ...fields.flatMap((field) => [...field.aliases, field.key].map((each) => [each, field.key] as const)),
  ]);
  const at = new Map<string, Told[]>();
  const others: Told[] = [];
  for (const problem of problems) {
    const place = places.get(problem.key ?? "");
    if (place === undefined) others.push(problem);
    else at.set(place, [...(at.get(place) ?? []), problem]);
  }
  return { at, others };
}

/** A problem as a sentence: what is wrong, and what to do. */
export function sentence(problem: Told): string {
  return [problem.reason, problem.fix]
    .filter(Boolean)
    .map((each) => ended(each ?? ""))
    .join(" ");
}

function ended(text: string): string {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?。]$/.test(begun) ? begun : `${begun}.`;
}

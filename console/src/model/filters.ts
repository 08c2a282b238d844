// Filters of messages that somebody has given a name, as the text that the browser keeps. Pure.
export interface Filter {
  topic: string;
  name: string;
  /** What stands in the address. */
  query: Record<string, string>;
}

export const MOST_OF_TOPIC = 20;
const MOST = 200;
export const LONGEST_NAME = 60;
const LONGEST = 2000;
/** What of an address is a filter. */
export const PARTS = ["start", "at", "queue", "amount", "as", "find"] as const;

/** Those that were kept; what is none is left out. */
export function readFilters(text: string | null): Filter[] {
  try {
    const read: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(read) ? read.filter(isFilter).slice(0, MOST) : [];
  } catch {
    return [];
  }
}

function isFilter(value: unknown): value is Filter {
  const { topic, name, query } = (value ?? {}) as Partial<Filter>;
  if (typeof topic !== "string" || typeof name !== "string" || !name || name.length > LONGEST_NAME) return false;
  if (typeof query !== "object" || query === null || JSON.stringify(query).length > LONGEST) return false;
  return Object.entries(query).every(([key, each]) => (PARTS as readonly string[]).includes(key) && typeof each === "string");
}

export function filtersOf(all: readonly Filter[], topic: string): Filter[] {
  return all.filter((each) => each.topic === topic).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** With one more, in the place of another of its name; null: there is no room for it, or it is none. */
export function withFilter(all: readonly Filter[], added: Filter): Filter[] | null {
  const others = withoutFilter(all, added.topic, added.name);
  const full = others.length >= MOST || filtersOf(others, added.topic).length >= MOST_OF_TOPIC;
  return full || !isFilter(added) ? null : [...others, added];
}

export function withoutFilter(all: readonly Filter[], topic: string, name: string): Filter[] {
  return all.filter((each) => each.topic !== topic || each.name !== name);
}

/** What of an address is given: what is empty is not. */
export function queryOf(given: Record<string, string>): Record<string, string> {
  return Object.fromEntries(PARTS.flatMap((part) => (given[part] ? [[part, given[part]]] : [])));
}

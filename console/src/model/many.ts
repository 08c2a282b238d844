// One order to several connectors. Pure but for the order itself.
import type { Row, Wanted } from "./connectors.ts";

export const MANY = ["pause", "resume", "restart"] as const;
export type Many = (typeof MANY)[number];

/** So many are asked for at a time. */
const AT_ONCE = 4;

/** Whether an order changes anything for a connector that is wanted so. */
export function isPossible(order: Many, wanted: Wanted): boolean {
  return { pause: wanted === "RUNNING", resume: wanted !== "RUNNING", restart: true }[order];
}

/** Whom of those that were chosen it is about, and who has what it would do already. */
export function meant(order: Many, chosen: readonly Row[]): { about: string[]; already: string[] } {
  const names = (possible: boolean) =>
    chosen.filter((each) => isPossible(order, each.wanted) === possible).map((each) => each.name);
  return { about: names(true), already: names(false) };
}

/** Gives an order to each, some at a time; what one of them answers keeps nobody else from it. */
export async function giveAll(
  names: readonly string[],
  give: (name: string) => Promise<void>,
  told: (name: string, error: unknown) => void,
): Promise<void> {
  const left = [...names];
  const work = async () => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) {
      try {
        await give(name);
        told(name, undefined);
      } catch (error) {
        told(name, error);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

// Which rows that differ stay different: rows under way differ for a while. Pure; as `rocketconnect verify` does it.
import type { Schemas } from "../../api/client.ts";

export type RowDifference = Schemas["record.RowDifference"];
export const KINDS = ["MISSING", "EXTRA", "DIFFERENT", "REFUSED"] as const;
export type DifferenceKind = (typeof KINDS)[number];

/** What a service of another version may say besides counts as different. */
export function kindOf(difference: RowDifference): DifferenceKind {
  const name = (difference.kind ?? "").replace(/^DIFFERENCE_KIND_/, "") as DifferenceKind;
  return KINDS.includes(name) ? name : "DIFFERENT";
}

/** Which row it is about, among those of one sink. */
export function rowOf({ table = "", key = "" }: RowDifference): string {
  return JSON.stringify([table, key]);
}

interface Suspect {
  difference: RowDifference;
  since: number;
}

/** Rows that differ, until they have been as they are on both sides for so long, or are equal. Times are milliseconds. */
export class Suspects {
  /** Those that stayed so. */
  different: RowDifference[] = [];
  readonly #waitMs: number;
  readonly #pending = new Map<string, Suspect>();

  constructor(waitMs: number) {
    this.#waitMs = waitMs;
  }

  /** Those that are not decided. */
  get pending(): RowDifference[] {
    return [...this.#pending.values()].map((each) => each.difference);
  }

  /** How many of a table are not decided. */
  ofTable(table: string): number {
    return this.pending.filter((each) => each.table === table).length;
  }

  /** Since when the one is as it is that has changed last; -Infinity: there is none. */
  get newest(): number {
    return [...this.#pending.values()].reduce((latest, { since }) => Math.max(latest, since), -Infinity);
  }

  /** They were seen for the first time. */
  add(differences: readonly RowDifference[], now: number): void {
    for (const difference of differences) {
      const row = rowOf(difference);
      if (!this.#pending.has(row)) this.#pending.set(row, { difference, since: now });
    }
  }

  /** `rows` were compared again, and these of them differ. What was in the source at `passed` has come through. */
  lookAgain(rows: readonly RowDifference[], differences: readonly RowDifference[], now: number, passed: number): void {
    const found = new Map(differences.map((each) => [rowOf(each), each]));
    for (const row of rows.map(rowOf)) {
      const suspect = this.#pending.get(row);
      const difference = found.get(row);
      this.#pending.delete(row);
      if (!suspect || !difference) continue;
      if (!isAlike(difference, suspect.difference)) this.#pending.set(row, { difference, since: now });
      else if (now - suspect.since >= this.#waitMs && suspect.since <= passed) this.different.push(difference);
      else this.#pending.set(row, suspect);
    }
  }

  /** They are to be looked at once more: something was done about them. */
  doubt(rows: readonly RowDifference[], now: number): void {
    const doubted = new Set(rows.map(rowOf));
    this.different = this.different.filter((each) => !doubted.has(rowOf(each)));
    this.add(rows, now);
  }
}

function isAlike(one: RowDifference, other: RowDifference): boolean {
  return (one.sourceDigest ?? "") === (other.sourceDigest ?? "") && (one.sinkDigest ?? "") === (other.sinkDigest ?? "");
}

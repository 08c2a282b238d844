// Which rows their source sends again, and as what. Pure; as `rocketconnect verify --repair` does it.
import { kindOf, type RowDifference } from "./settling.ts";

/** A source takes conditions, and lists of keys, of so many bytes. */
export const LONGEST_CONDITION = 256;
const OR = " OR ";

/** Rows of a table: arguments of the signal execute-snapshot. */
export type Sending = { tables: string } & ({ condition: string } | { keys: string });

export interface Repair {
  sendings: Sending[];
  /** What is sent again, and what is deleted because the source does not have it. */
  again: RowDifference[];
  deleted: RowDifference[];
  /** Only the sink has them, and it deletes nothing. */
  kept: RowDifference[];
  /** Nobody can send them again: there is no condition for them, or it is too long; or the source has refused the row. */
  left: RowDifference[];
}

/** What can be done about rows that differ. `deletes`: the sink deletes rows. */
export function repairOf(different: readonly RowDifference[], deletes: boolean): Repair {
  const sorted = [...different].sort((a, b) => compared(a.table, b.table) || compared(a.key, b.key));
  const extra = sorted.filter((each) => kindOf(each) === "EXTRA");
  const conditions = joined(
    sorted.filter((each) => ["MISSING", "DIFFERENT"].includes(kindOf(each))),
    ({ condition = "" }) => `(${condition})`,
    (before, added) => before + OR + added,
  );
  const keys = joined(
    deletes ? extra : [],
    ({ key = "" }) => `[${key}]`,
    (before, added) => `${before.slice(0, -1)}, ${added.slice(1)}`,
  );
  return {
    sendings: [
      ...conditions.made.map(({ tables, text }) => ({ tables, condition: text })),
      ...keys.made.map(({ tables, text }) => ({ tables, keys: text })),
    ],
    again: conditions.taken,
    deleted: keys.taken,
    kept: deletes ? [] : extra,
    left: [...conditions.left, ...keys.left, ...sorted.filter((each) => kindOf(each) === "REFUSED")],
  };
}

interface Joined {
  made: { tables: string; text: string }[];
  taken: RowDifference[];
  left: RowDifference[];
}

/** As few texts as there can be. Rows without a condition are none that their source sends. */
function joined(
  rows: readonly RowDifference[],
  textOf: (row: RowDifference) => string,
  join: (before: string, added: string) => string,
): Joined {
  const found: Joined = { made: [], taken: [], left: [] };
  for (const row of rows) {
    const text = textOf(row);
    if (!row.condition || !fits(text)) {
      found.left.push(row);
      continue;
    }
    found.taken.push(row);
    const last = found.made.at(-1);
    const longer = last?.tables === row.table && last ? join(last.text, text) : "";
    if (last && longer && fits(longer)) last.text = longer;
    else found.made.push({ tables: row.table ?? "", text });
  }
  return found;
}

function fits(text: string): boolean {
  return new TextEncoder().encode(text).length <= LONGEST_CONDITION;
}

function compared(a = "", b = ""): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

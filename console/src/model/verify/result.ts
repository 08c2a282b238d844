// What somebody asks for when tables are compared, and what was found, table by table. Pure.
import type { Schemas } from "../../api/client.ts";
import { type DifferenceKind, KINDS, kindOf, type RowDifference } from "./settling.ts";

export type TableCompared = Schemas["record.TableCompared"];

export interface Table {
  table: string;
  /** Where the sink keeps it. */
  target: string;
  /** Rows of the source that were compared. */
  rows: number;
  done: boolean;
  /** Columns that were not compared, and why. */
  leftOut: readonly string[];
}

export interface TableResult extends Table {
  equal: number;
  counts: Record<DifferenceKind, number>;
  /** They differ, and it is not decided whether they stay so. */
  unsettled: number;
  /** The first of those that differ. */
  first: RowDifference[];
}

/** The tables so far, with what one more answer says. */
export function withCompared(tables: readonly Table[], found: readonly TableCompared[]): Table[] {
  const known = new Map(tables.map((each) => [each.table, each]));
  for (const { table = "", target = "", rows, done = false, leftOut = [] } of found) {
    const before = known.get(table);
    known.set(table, { table, target, leftOut, ...before, rows: (before?.rows ?? 0) + Number(rows ?? 0), done });
  }
  return [...known.values()];
}

/** `show`: so many rows that differ of each table. */
export function resultOf(
  tables: readonly Table[],
  different: readonly RowDifference[],
  pending: readonly RowDifference[],
  show: number,
): TableResult[] {
  return tables.map((table) => {
    const own = different.filter((each) => each.table === table.table);
    const open = pending.filter((each) => each.table === table.table);
    const counts = Object.fromEntries(
      KINDS.map((kind) => [kind, own.filter((each) => kindOf(each) === kind).length]),
    ) as TableResult["counts"];
    // Rows that only the sink has are not among those of the source.
    const unlike = [...own, ...open].filter((each) => kindOf(each) !== "EXTRA").length;
    const first = [...own].sort((a, b) => collated(a.key, b.key)).slice(0, show);
    return { ...table, equal: Math.max(0, table.rows - unlike), counts, unsettled: open.length, first };
  });
}

/** Keys of numbers in the order of the numbers. */
function collated(a = "", b = ""): number {
  return a.localeCompare(b, "en", { numeric: true });
}

/** Lines of TABLE or TABLE=TARGET, as `/v1` takes them; none: all tables. */
export function targetsOf(text: string): Record<string, string> {
  const lines = text.split("\n").map((each) => each.trim());
  return Object.fromEntries(
    lines.filter(Boolean).map((line) => {
      const [table = "", ...target] = line.split("=");
      return [table.trim(), target.join("=").trim()];
    }),
  );
}

// How positions are moved: what somebody chooses, as an order of the API, and what follows. Pure.
import type { Schemas } from "../api/client.ts";

export type Snapshot = Schemas["position.PositionSnapshot"];
export const WAYS = ["EARLIEST", "LATEST", "TIME", "OFFSETS", "RESET"] as const;
export type Way = (typeof WAYS)[number];

export interface Chosen {
  way: Way;
  /** A date and a time of day here, as an input has it. */
  time: string;
  /** By partition; empty: it stays where it is. */
  offsets: Readonly<Record<string, string>>;
  /** Of an end or a time: which partitions; empty: all. */
  partitions: readonly string[];
}

export type Order =
  | { verb: "alter" | "reset"; body: Record<string, unknown> }
  /** Nothing is chosen yet, or these partitions have offsets that are none. */
  | { wrong: string[] };

const NUMBER = /^-?\d+$/;
const OFFSET = /^\[(\s*-?\d+\s*(,\s*-?\d+\s*)*)?\]$/;

/** Without a time zone of its own a time is one of this machine. */
export function orderOf({ way, time, offsets, partitions }: Chosen): Order {
  if (way === "RESET") return { verb: "reset", body: {} };
  if (way === "TIME") {
    const moment = new Date(time);
    return Number.isNaN(moment.getTime())
      ? { wrong: [] }
      : { verb: "alter", body: { toTime: moment.toISOString(), partitions } };
  }
  if (way !== "OFFSETS") return { verb: "alter", body: { to: `EDGE_${way}`, partitions } };
  const given = Object.entries(offsets)
    .map(([partition, text]) => [partition, text.trim()] as const)
    .filter(([, text]) => text);
  const wrong = given.filter(([, text]) => !NUMBER.test(text) && !OFFSET.test(text)).map(([partition]) => partition);
  if (wrong.length || !given.length) return { wrong };
  const positions = given.map(([partition, text]) => ({ partition, offset: NUMBER.test(text) ? `[${text}]` : text }));
  return { verb: "alter", body: { positions } };
}

/** What follows for the records between the two offsets; empty: there is no position. */
export function directionOf(from: string, to: string): "back" | "forward" | "same" | "anew" | "begins" {
  if (!to) return "anew";
  if (!from) return "begins";
  const [before, after] = [numbersOf(from), numbersOf(to)];
  for (let place = 0; place < Math.max(before.length, after.length); place += 1) {
    const [old, now] = [before[place] ?? 0n, after[place] ?? 0n];
    if (old !== now) return now < old ? "back" : "forward";
  }
  return "same";
}

function numbersOf(offset: string): bigint[] {
  return (offset.match(/-?\d+/g) ?? []).map(BigInt);
}

/** Where a connector was when a revision ended, as far as it is known: revisions between two that ran ended where the first did. */
export function endOf(snapshots: readonly Snapshot[], revision: number): Snapshot | undefined {
  return snapshots.find((each) => Number(each.revision) <= revision && revision < Number(each.nextRevision));
}

// How a connector has been, as the state service has sampled it: an hour at most. Pure.
import type { Schemas } from "../api/client.ts";

export interface Sample {
  /** When, in ms. */
  time: number;
  /** Records a second; null: nobody measured it. */
  rate: number | null;
  /** null: not known. */
  lag: number | null;
  /** Errors of all tasks since the first sample. */
  errors: number;
  /** Seconds of a batch; null: none ended. */
  batch: number | null;
  /** Seconds from the source's time of records until they were delivered; null: not known. */
  latency: number | null;
  /** How old the newest record was that was delivered, in seconds; null: not known. */
  freshness: number | null;
}

export const LINES = ["rate", "lag", "latency", "freshness", "errors", "batch"] as const;
export type Of = (typeof LINES)[number];

/** The samples as the API tells them. */
export function samplesOf(told: readonly Schemas["state.ConnectorSample"][]): Sample[] {
  let errors = 0;
  return told.map((each) => {
    errors += Number(each.errors ?? 0);
    return {
      time: Date.parse(each.time ?? ""),
      rate: each.rateOut ?? null,
      lag: each.lag ?? null,
      errors,
      batch: each.batchSeconds ?? null,
      latency: each.latencySeconds ?? null,
      freshness: each.freshnessSeconds ?? null,
    };
  });
}

export interface Line {
  /** Lines of "x,y x,y", broken where nothing is known. */
  points: string[];
  least: number;
  most: number;
  now: number | null;
}

/** A line in a picture of so many units, over all the time up to now; null: nothing is known. */
export function lineOf(
  all: readonly Sample[],
  of: Of,
  width: number,
  height: number,
  now: number,
): Line | null {
  const known = all.flatMap((each) => each[of] ?? []);
  if (!known.length) return null;
  const [least, most] = [Math.min(...known), Math.max(...known)];
  const begin = all[0]?.time ?? now;
  const span = Math.max(1, now - begin);
  const place = (time: number, value: number) =>
    `${round((width * (time - begin)) / span)},${round(height - (height * value) / (most || 1))}`;
  const points: string[][] = [[]];
  for (const each of all) {
    const value = each[of];
    if (value === null) points.push([]);
    else points.at(-1)?.push(place(each.time, value));
  }
  const last = all.at(-1)?.[of] ?? null;
  if (last !== null) points.at(-1)?.push(place(now, last));
  return { points: points.filter((each) => each.length).map(pictured), least, most, now: last };
}

/** A point alone is a line to itself, which is drawn as a dot. */
function pictured(points: string[]): string {
  return (points.length === 1 ? [...points, ...points] : points).join(" ");
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

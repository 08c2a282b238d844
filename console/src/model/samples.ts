// What a page has seen of a connector since it was opened: so many samples at most, however long that is. Pure.
import { type ConnectorState, lagOf, rateOf } from "./connectors.ts";

export interface Sample {
  /** When it was seen, in ms. */
  time: number;
  /** Records a second; null: nobody measures it. */
  rate: number | null;
  /** null: not known. */
  lag: number | null;
  /** Errors of all tasks since the page was opened. */
  errors: number;
}

export interface Samples {
  all: readonly Sample[];
  /** Errors as the tasks counted them last. */
  counted: number;
  /** The least time between two samples, in ms. */
  step: number;
}

export const NONE: Samples = { all: [], counted: 0, step: 1000 };
const MOST = 360;

/** With what is seen now. When there are too many, every second one goes, and later ones are that much further apart. */
export function withSample(samples: Samples, state: ConnectorState, time: number): Samples {
  const tasks = state.tasks ?? [];
  const counted = tasks.reduce((sum, each) => sum + Number(each.metrics?.errors ?? 0), 0);
  const before = samples.all.at(-1);
  // Tasks that were started again count from 0.
  const errors = before ? before.errors + Math.max(0, counted - samples.counted) : 0;
  const sample = { time, rate: rateOf(tasks), lag: lagOf(tasks)?.amount ?? null, errors };
  const isSoon = samples.all.length > 1 && time - (samples.all.at(-2)?.time ?? 0) < samples.step;
  const all = [...(isSoon ? samples.all.slice(0, -1) : samples.all), sample];
  if (all.length <= MOST) return { all, counted, step: samples.step };
  return { all: all.filter((_, index) => index % 2 === 0 || index === all.length - 1), counted, step: samples.step * 2 };
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
  of: "rate" | "lag" | "errors",
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
  return { points: points.filter((each) => each.length).map((each) => each.join(" ")), least, most, now: last };
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

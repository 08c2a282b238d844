// Up to which time all that was in a source has come through to its sink. Pure; as `rocketconnect verify` does it.
import type { Lag, State } from "../connectors.ts";

/** A state says what was so at most that long ago. */
export const STALE_MS = 8000;
/** What a source has read is in its topic by then. */
export const SENDING_MS = 3000;

/** What the services say of a pipeline. */
export interface Pipeline {
  /** When it was asked for, in milliseconds. */
  at: number;
  /** Its connectors that are not at work, so that nothing comes through. */
  standing: ReadonlyMap<string, State>;
  /** The source has nothing left to read. */
  read: boolean;
  /** What it has left, for people; null: not known. */
  unread: Lag | null;
  /** By queue where it ends, and where the sink goes on. */
  ends: ReadonlyMap<string, number>;
  positions: ReadonlyMap<string, number>;
}

/** What the records of a source have before them: to be read, to be in the topic, to be in the target. */
export type Step = "READING" | "SENDING" | "WRITING";

/** Why it is not decided yet which rows are different. */
export interface Awaited {
  /** TIME: rows have to stay as they are for a while. */
  what: Step | "TIME";
  /** Messages that the sink is behind. */
  left: number;
  unread: Lag | null;
  standing: ReadonlyMap<string, State>;
}

/** `newest`: when the row was seen for the first time as it is that has changed last. */
export function awaitedOf(passage: Passage, seen: Pipeline, newest: number): Awaited {
  const step = passage.step === "READING" ? "READING" : passage.left ? "WRITING" : "SENDING";
  const what = passage.passed >= newest ? "TIME" : step;
  return { what, left: passage.left, unread: seen.unread?.amount ? seen.unread : null, standing: seen.standing };
}

/** Follows the records of a source through its topic: until nothing is left to read, then to the ends of the queues. */
export class Passage {
  /** What was in the source by this time is in the target, or will not come. */
  passed = -Infinity;
  /** Messages that the sink is behind, at the last look. */
  left = 0;
  step: Step = "READING";
  /** All that was there at this time is read, and may not be in the topic. */
  #read: number | null = null;
  #sentAt = 0;
  /** Where the topic ended when it had all that was read. */
  #ends: ReadonlyMap<string, number> | null = null;

  /** What is seen, later than the last time. */
  look(seen: Pipeline): void {
    this.left = leftOf(seen.ends, seen.positions);
    if (seen.standing.size) {
      this.#read = this.#ends = null;
      this.passed = seen.at;
      return;
    }
    if (this.#read === null && seen.read) {
      this.#read = seen.at - STALE_MS;
      this.#sentAt = seen.at + SENDING_MS;
    }
    if (this.#read === null) {
      this.step = "READING";
      return;
    }
    if (this.#ends === null && seen.at >= this.#sentAt) this.#ends = seen.ends;
    if (this.#ends && !leftOf(this.#ends, seen.positions)) {
      this.passed = Math.max(this.passed, this.#read);
      this.#read = this.#ends = null;
    }
    this.step = this.#ends ? "WRITING" : "SENDING";
  }
}

function leftOf(ends: ReadonlyMap<string, number>, positions: ReadonlyMap<string, number>): number {
  return [...ends].reduce((sum, [queue, end]) => sum + Math.max(0, end - (positions.get(queue) ?? 0)), 0);
}

// Dead letters as people look at them: where each failed, what became of it, and what can be done with it. Pure.
import type { Schemas } from "../api/client.ts";

export type Letter = Schemas["deadletter.DeadLetter"];
export type WholeLetter = Schemas["deadletter.GetDeadLetterResponse"];
export type Replay = Schemas["deadletter.GetReplayResponse"];
export type Planned = Schemas["deadletter.ReplayDeadLettersResponse"];

export const STAGES = ["POLL", "TRANSFORM", "CONVERT", "SEND", "WRITE", "UNSPECIFIED"] as const;
export type Stage = (typeof STAGES)[number];
export const OUTCOMES = ["RECORD", "AS_IT_IS", "DROPPED", "FAILS", "LEFT_OUT", "UNSPECIFIED"] as const;
export type Outcome = (typeof OUTCOMES)[number];

export function stageOf(letter: Letter): Stage {
  const name = (letter.stage ?? "").replace(/^STAGE_/, "") as Stage;
  return STAGES.includes(name) ? name : "UNSPECIFIED";
}

export function outcomeOf(said: string | undefined): Outcome {
  const name = (said ?? "").replace(/^OUTCOME_/, "") as Outcome;
  return OUTCOMES.includes(name) ? name : "UNSPECIFIED";
}

/** What was done with a letter, and what it is, apart from why it failed. */
export const MARKS = ["replayed", "discarded", "edited", "cut", "copy", "returned"] as const;
export type Mark = (typeof MARKS)[number];

export function marksOf(letter: Letter): Mark[] {
  const has: Record<Mark, unknown> = {
    replayed: letter.replayedTime,
    discarded: letter.discardedTime,
    edited: letter.edition,
    cut: letter.cut && !letter.edition,
    copy: letter.copyOf,
    returned: letter.cameBackFrom,
  };
  return MARKS.filter((each) => has[each]);
}

/** What is corrected of a letter: its packed rows, what its source could not read, or the message's body. */
export type Corrected = "rows" | "record" | "body";

export function correctedOf(whole: WholeLetter): Corrected {
  if (rowsText(whole) !== null) return "rows";
  const letter = whole.deadLetter ?? {};
  const isOfSource = whole.notes?.["source.partition"] !== undefined;
  return isOfSource && stageOf(letter) === "POLL" && !letter.edition ? "record" : "body";
}

/** The packed rows as the JSON that an edition takes; null: there are none, or not all of them are JSON. */
export function rowsText(whole: WholeLetter): string | null {
  const packed = whole.packed;
  const rows = packed?.rows ?? [];
  if (!packed || packed.problem || !rows.length || rows.length < (packed.count ?? 0) || rows.some((each) => each.problem))
    return null;
  const values = rows.map((each) => each.value ?? "null");
  return rows.length === 1 ? (values[0] ?? "null") : `[${values.join(",")}]`;
}

/** Which letters: those that are named, or all that a filter lets through. */
export interface Chosen {
  ids: string[];
  filter: Record<string, string>;
}

/** The body of an order about them. */
export function ordered({ ids, filter }: Chosen): object {
  return ids.length ? { ids } : { all: true, ...filter };
}

/** How a list is asked for: what stands in the address of its page, as the API takes it. */
export function filterOf(query: URLSearchParams, now: number): Record<string, string> {
  const hours = Number(query.get("hours") ?? 0);
  const stage = query.get("stage") ?? "";
  const error = query.get("error") ?? "";
  return {
    ...(hours > 0 && { since: new Date(now - hours * 3_600_000).toISOString() }),
    ...(STAGES.includes(stage as Stage) && stage !== "UNSPECIFIED" && { stage: `STAGE_${stage}` }),
    ...(error && { error }),
  };
}

/** Whether a sink has come to where a replay sent its letters: then what was to come back has come back. */
export function areTaken(ends: Record<string, string>, positions: { partition?: string; offset?: string }[]): boolean {
  const there = new Map(positions.map((each) => [each.partition, Number((each.offset ?? "").replace(/[[\]]/g, ""))]));
  return Object.entries(ends).every(([queue, end]) => (there.get(queue) ?? -1) >= Number(end));
}

// What happened to a message, as RocketMQ's message trace tells it. Pure.
import type { Schemas } from "../api/client.ts";
import type { TopicRecord } from "./topics.ts";

export type Traced = Schemas["topic.TraceMessagesResponse"];

export const KINDS = ["SENT", "STORED", "CONSUMED", "TRANSACTION_ENDED", "RECALLED", "UNSPECIFIED"] as const;
export type Kind = (typeof KINDS)[number];
/** Results that there are words for; others are told as RocketMQ has them. */
export const RESULTS = ["success", "failed"] as const;
export type Result = (typeof RESULTS)[number];

export interface Step {
  kind: Kind;
  /** Empty: it is not told. */
  time: string;
  /** The group of the producer or consumer. */
  who: string;
  /** The client, or where it is stored. */
  where: string;
  milliseconds: number | null;
  result: string;
  /** How often the group had got it before. */
  retries: number;
}

/** By what a trace is asked for; empty: the message has no id of its client. */
export function idOf(record: TopicRecord): string {
  return record.properties?.["UNIQ_KEY"] ?? "";
}

/** The topic of a record. */
export function topicOf(record: TopicRecord): string {
  return (record.queue ?? "").split("/").slice(0, -2).join("/");
}

/** What happened to a message, with when it was stored; the oldest first, by the clocks of those who tell it. */
export function stepsOf(record: TopicRecord, traced: Traced): Step[] {
  const trace = traced.messages?.find((each) => each.messageId === idOf(record));
  const stored: Step = {
    ...{ kind: "STORED", who: "", milliseconds: null, result: "", retries: 0 },
    time: trace?.stored?.storeTime ?? record.storeTime ?? "",
    where: [trace?.stored?.storeHost, `${record.queue ?? ""} ${record.offset ?? 0}`].filter(Boolean).join(", "),
  };
  const told = (trace?.steps ?? []).map((each): Step => {
    const kind = (each.kind ?? "").replace(/^TRACE_STEP_KIND_/, "") as Kind;
    return {
      kind: KINDS.includes(kind) ? kind : "UNSPECIFIED",
      time: each.time ?? "",
      who: each.group ?? "",
      where: each.clientHost ?? "",
      milliseconds: each.took === undefined ? null : Math.round(Number.parseFloat(each.took) * 1000),
      result: each.result ?? "",
      retries: each.retries ?? 0,
    };
  });
  // Those without a time stay where they are told. What was sent and stored in the same moment was sent first.
  const at = (each: Step) => (each.time ? Date.parse(each.time) : 0);
  return [...told.filter((each) => each.kind === "SENT"), stored, ...told.filter((each) => each.kind !== "SENT")].sort(
    (a, b) => at(a) - at(b),
  );
}

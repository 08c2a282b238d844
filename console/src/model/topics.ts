// Topics as people look at them: how much is in them, who writes and reads them, and how their messages are read. Pure.
import type { Schemas } from "../api/client.ts";
import { type Connector, type ConnectorState, isOfForm, kindOf, topicsOf } from "./connectors.ts";
import { fromBase64 } from "./values.ts";

export type Topic = Schemas["topic.Topic"];
export type TopicRecord = Schemas["topic.TopicRecord"];
export type Peeked = Schemas["topic.PeekTopicResponse"];

/** Longer values are told in part by the API. */
export const TOLD = 10_000;

export function messagesOf(topic: Topic): number {
  return (topic.queues ?? []).reduce((sum, each) => sum + Number(each.latest ?? 0) - Number(each.earliest ?? 0), 0);
}

export interface Use {
  connector: string;
  /** What it has left to read of the topic; null: it is not known, as it has no tasks at work. */
  lag: number | null;
}

export interface Uses {
  writers: string[];
  readers: Use[];
  /** Whose dead letters it holds. */
  letters: string[];
}

/** Which connectors write a topic, and which read it. */
export function usesOf(topic: string, connectors: Iterable<Connector>, states: ReadonlyMap<string, ConnectorState>): Uses {
  const uses: Uses = { writers: [], readers: [], letters: [] };
  for (const each of connectors) {
    const [kind, name] = [kindOf(each), each.name ?? ""];
    if (each.config?.["errors.deadletterqueue.topic.name"] === topic) uses.letters.push(name);
    if (!topicsOf(kind, each.config ?? {}).some((form) => isOfForm(form, topic))) continue;
    if (kind === "SINK") uses.readers.push({ connector: name, lag: lagIn(topic, states.get(each.uid ?? "")) });
    else uses.writers.push(name);
  }
  return uses;
}

function lagIn(topic: string, state: ConnectorState | undefined): number | null {
  const lags = (state?.tasks ?? [])
    .flatMap((each) => each.metrics?.lags ?? [])
    .filter((each) => each.queue?.startsWith(`${topic}/`));
  return lags.length ? lags.reduce((sum, each) => sum + Number(each.messages ?? 0), 0) : null;
}

/** How a connector reads messages: its converters with their options, and its user of RocketMQ. */
export function readingOf(config: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(config).filter(([key]) => /^(key|value)\.converter(\.|$)|^rocketmq\.(access|secret)\.key$/.test(key)),
  );
}

/** Lines of key=value; a string: the first line that is none. */
export function optionsOf(text: string): Record<string, string> | string {
  const lines = text
    .split("\n")
    .map((each) => each.trim())
    .filter((each) => each && !each.startsWith("#"));
  const wrong = lines.find((each) => each.indexOf("=") < 1);
  if (wrong !== undefined) return wrong;
  return Object.fromEntries(
    lines.map((each) => [each.slice(0, each.indexOf("=")).trim(), each.slice(each.indexOf("=") + 1).trim()]),
  );
}

export const STARTS = ["last", "first", "offset", "since", "key"] as const;
export type Start = (typeof STARTS)[number];

/** Where to begin, as the API takes it. `at` is an offset, a local time as a field of a page has it, or a key. */
export function startOf(start: Start, at: string): object {
  if (start === "first") return { offset: "0" };
  if (start === "offset" && /^\d+$/.test(at)) return { offset: at };
  if (start === "since" && !Number.isNaN(Date.parse(at))) return { since: new Date(at).toISOString() };
  if (start === "key" && at.trim()) return { key: at.trim() };
  return {};
}

/** With what came behind it: so many of the newest records, and all else as the newer answer says. What saw nothing moves no place. */
export function withMore(before: Peeked, more: Peeked, most: number): Peeked {
  const next = Object.keys(more.next?.offsets ?? {}).length ? more.next : before.next;
  const masked = [...new Set([...(before.masked ?? []), ...(more.masked ?? [])])].sort();
  return { ...more, ...(next && { next }), ...(masked.length > 0 && { masked }), records: [...(before.records ?? []), ...(more.records ?? [])].slice(-most) };
}

/** The bytes of a value that no converter has read: the API tells those that are no text as base64. */
export function bytesOf(text: string, size: number): Uint8Array {
  const encoded = new TextEncoder().encode(text);
  if (encoded.length === size || !/^[A-Za-z0-9+/]+={0,2}$/.test(text) || text.length % 4) return encoded;
  const decoded = fromBase64(text);
  return decoded.length === size ? decoded : encoded;
}

/** "broker/number" of a queue, and the offset in it. */
export function placeOf(record: TopicRecord): string {
  const queue = (record.queue ?? "").split("/").slice(-2).join("/");
  return `${queue} : ${record.offset ?? 0}${(record.rows ?? 0) > 1 ? ` / ${record.row ?? 0}` : ""}`;
}

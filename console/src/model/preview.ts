// What the steps of a configuration make of a record, as lines. Pure.
import type { Schemas } from "../api/client.ts";

export type Shown = Schemas["record.ShownRecord"];

/** The value, and of the rest what is not as it was before. */
export function linesOf(record: Shown, before: Shown | undefined): string[] {
  const about = {
    topic: record.topic,
    key: record.hasKey ? record.key : "",
    time: record.time,
    headers: JSON.stringify(record.headers ?? {}),
  };
  const old: Record<string, string | undefined> = before
    ? {
        topic: before.topic,
        key: before.hasKey ? before.key : "",
        time: before.time,
        headers: JSON.stringify(before.headers ?? {}),
      }
    : { headers: "{}" };
  const changed = Object.entries(about).filter(([name, text]) => (text ?? "") !== (old[name] ?? ""));
  return [typed(record), ...changed.map(([name, text]) => `[${name}] ${text ?? ""}`)];
}

/** The value with the types of its fields; a tombstone has none. */
function typed(record: Shown): string {
  if (!record.hasValue) return "∅";
  const value = record.value ?? "";
  const schema = read(record.schema ?? "") as { type?: string; fields?: { field: string; type: string }[] } | undefined;
  const whole = schema?.fields && read(value);
  if (!schema?.fields || typeof whole !== "object" || whole === null)
    return schema?.type ? `${value}  : ${schema.type}` : value;
  const types = new Map(schema.fields.map((each) => [each.field, each.type]));
  return Object.entries(whole)
    .map(([name, each]) => `${name} = ${JSON.stringify(each)}  : ${types.get(name) ?? ""}`)
    .join("\n");
}

function read(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// Connectors as people look at them: what is wanted and what is so, joined. Pure.
import type { Schemas } from "../api/client.ts";

export type Connector = Schemas["connector.Connector"];
export type ConnectorState = Schemas["state.ConnectorState"];
export type TaskState = Schemas["state.TaskState"];
export type Change = Schemas["connector.Change"];
export type Revision = Schemas["connector.Revision"];
export type Position = Schemas["record.Position"];
export type TaskLog = Schemas["state.TaskLog"];
export type Worker = Schemas["cluster.Worker"];

/** What is wrong first, the worst before the rest; then what is well, and what stands still because somebody wants it. */
export const STATES = [
  "FAILED",
  "STALLED",
  "UNASSIGNED",
  "RESTARTING",
  "WAITING",
  "UNSPECIFIED",
  "STARTING",
  "RUNNING",
  "IDLE",
  "PAUSED",
  "STOPPED",
] as const;
export type State = (typeof STATES)[number];
export const WRONG: readonly State[] = ["FAILED", "STALLED", "UNASSIGNED", "RESTARTING", "WAITING"];
/** These come and go with the records, and so have one place: rows shall not jump. */
const WELL: readonly State[] = ["UNSPECIFIED", "STARTING", "RUNNING", "IDLE"];
export const KINDS = ["SOURCE", "SINK", "DIRECT", "UNSPECIFIED"] as const;
export type Kind = (typeof KINDS)[number];
export const WANTED = ["RUNNING", "PAUSED", "STOPPED"] as const;
export type Wanted = (typeof WANTED)[number];

/** In these a task measures how fast it is and what is left; in any other nobody does. */
const MEASURED: readonly State[] = ["RUNNING", "IDLE", "WAITING", "STALLED", "PAUSED"];

export interface Lag {
  amount: number;
  /** "messages", "bytes", "rows"; empty: it is not said. */
  unit: string;
}

/** One connector, and what is at the other ends of its topics. */
export interface Row {
  name: string;
  kind: Kind;
  plugin: string;
  state: State;
  wanted: Wanted;
  /** Why it is so; empty: nothing is said. */
  trace: string;
  /** Since when; empty: not known. */
  since: string;
  rate: number | null;
  lag: Lag | null;
  tasks: number;
  /** How many of them are in the state of the connector. */
  alike: number;
  /** How many dead letters its tasks have sent since they were started. */
  deadLetters: number;
  topics: string[];
  /** Connectors that write to its topics, and that read them; it is not among them. */
  writers: string[];
  readers: string[];
}

export function stateOf(said: { state?: string } | undefined): State {
  const name = (said?.state ?? "").replace(/^STATE_/, "") as State;
  return STATES.includes(name) ? name : "UNSPECIFIED";
}

export function kindOf(said: { type?: string } | undefined): Kind {
  const name = (said?.type ?? "").replace(/^CONNECTOR_TYPE_/, "") as Kind;
  return KINDS.includes(name) ? name : "UNSPECIFIED";
}

export function wantedOf(said: { wantedState?: string } | undefined): Wanted {
  const name = (said?.wantedState ?? "").replace(/^WANTED_STATE_/, "") as Wanted;
  return WANTED.includes(name) ? name : "RUNNING";
}

export function rateOf(tasks: readonly TaskState[]): number | null {
  const measured = tasks.filter((each) => MEASURED.includes(stateOf(each)));
  return measured.length ? measured.reduce((sum, each) => sum + (each.metrics?.rateOut ?? 0), 0) : null;
}

/** What is left to do; null: that of one task is not known, or there are none. */
export function lagOf(tasks: readonly TaskState[]): Lag | null {
  const lags = tasks.filter((each) => (each.task ?? 0) >= 0).map(taskLag);
  if (!lags.length || lags.includes(null)) return null;
  return { amount: lags.reduce((sum, each) => sum + (each?.amount ?? 0), 0), unit: lags[0]?.unit ?? "" };
}

function taskLag(task: TaskState): Lag | null {
  const metrics = task.metrics;
  if (!metrics || !MEASURED.includes(stateOf(task))) return null;
  if (metrics.lags?.length) {
    return { amount: metrics.lags.reduce((sum, each) => sum + Number(each.messages ?? 0), 0), unit: "messages" };
  }
  if (!metrics.sourceRemainingKnown) return null;
  return { amount: Number(metrics.sourceRemaining ?? 0), unit: metrics.sourceRemainingUnit ?? "" };
}

/** Since when a connector is as it is: the first of its tasks that are like it. */
export function sinceOf(state: ConnectorState | undefined, connector?: Connector): string {
  const tasks = (state?.tasks ?? []).filter((each) => stateOf(each) === stateOf(state) && each.since);
  const first = tasks.map((each) => each.since ?? "").sort()[0];
  return first ?? (["PAUSED", "STOPPED"].includes(stateOf(state)) ? (connector?.updateTime ?? "") : "");
}

/** The topics of a configuration: what it names, or the form of the names that it makes. */
export function topicsOf(kind: Kind, config: Record<string, string>): string[] {
  if (kind === "DIRECT") return [];
  if (kind === "SINK") {
    const given = config["topics"] ?? config["connect.topicnames"] ?? "";
    return given.split(",").map((each) => each.trim()).filter(Boolean);
  }
  const made = config["topic.template"] ?? (config["topic.prefix"] ? `${config["topic.prefix"]}\${}` : "");
  const named = config["topic"] ?? config["connect.topicname"] ?? "";
  // Sources of databases have a topic for each table, which may begin with that of all.
  const byDefault = /cdc/i.test(config["connector.class"] ?? "") ? "${topic}-${schema}-${table}" : "";
  const ofTables = (config["table.topic"] ?? byDefault).replaceAll("${topic}", () => named);
  return [...new Set([named, made, ofTables])].filter(Boolean);
}

/** Whether a name is of this form, in which ${...} stands for anything. */
export function isOfForm(form: string, name: string): boolean {
  if (!form.includes("${")) return form === name;
  const parts = form.split(/\$\{[^}]*\}/).map((each) => each.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".+")}$`).test(name);
}

/** All connectors, what is wrong first; equal ones by name. */
export function rowsOf(connectors: Iterable<Connector>, states: ReadonlyMap<string, ConnectorState>): Row[] {
  const rows = [...connectors].map((connector) => rowOf(connector, states.get(connector.uid ?? "")));
  const sources = rows.filter((each) => each.kind === "SOURCE");
  const byTopic = new Map<string, Row[]>();
  for (const sink of rows.filter((each) => each.kind === "SINK")) {
    for (const topic of sink.topics) byTopic.set(topic, [...(byTopic.get(topic) ?? []), sink]);
  }
  for (const source of sources) {
    for (const form of source.topics) {
      const read = form.includes("${") ? [...byTopic.keys()].filter((topic) => isOfForm(form, topic)) : [form];
      for (const sink of read.flatMap((topic) => byTopic.get(topic) ?? [])) {
        if (!source.readers.includes(sink.name)) source.readers.push(sink.name);
        if (!sink.writers.includes(source.name)) sink.writers.push(source.name);
      }
    }
  }
  return rows.sort((a, b) => rank(a.state) - rank(b.state) || (a.name < b.name ? -1 : 1));
}

function rank(state: State): number {
  return STATES.indexOf(WELL.includes(state) ? "RUNNING" : state);
}

function rowOf(connector: Connector, state: ConnectorState | undefined): Row {
  const tasks = state?.tasks ?? [];
  const config = connector.config ?? {};
  const kind = kindOf(connector) === "UNSPECIFIED" ? kindOf(state) : kindOf(connector);
  return {
    name: connector.name ?? "",
    kind,
    plugin: config["connector.class"] ?? state?.plugin ?? "",
    state: stateOf(state),
    wanted: wantedOf(connector),
    trace: state?.trace ?? "",
    since: sinceOf(state, connector),
    rate: rateOf(tasks),
    lag: lagOf(tasks),
    tasks: tasks.filter((each) => (each.task ?? 0) >= 0).length,
    alike: tasks.filter((each) => (each.task ?? 0) >= 0 && stateOf(each) === stateOf(state)).length,
    deadLetters: tasks.reduce((sum, each) => sum + Number(each.metrics?.deadLetters ?? 0), 0),
    topics: topicsOf(kind, config),
    writers: [],
    readers: [],
  };
}

/** Connectors whose tables a sink may keep: those that write its topics; all sources, where none is known to. */
export function sourcesOf(sink: Row, all: readonly Row[]): string[] {
  return sink.writers.length ? sink.writers : all.filter((each) => each.kind === "SOURCE").map((each) => each.name).sort();
}

/** What writes a revision. */
export const WRITES: readonly string[] = ["ACTION_CREATE", "ACTION_UPDATE", "ACTION_ROLLBACK"];

export interface Difference {
  key: string;
  before?: string;
  after?: string;
}

/** What one configuration has that another has not, by key. */
export function differences(before: Record<string, string>, after: Record<string, string>): Difference[] {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return keys.filter((key) => before[key] !== after[key]).map((key) => ({ key, before: before[key], after: after[key] }));
}

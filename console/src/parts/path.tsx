// Where records come from and where they go: source -> topic -> sink, of which one is the connector itself.
import type { Row } from "../model/connectors.ts";
import { href } from "../model/route.ts";
import { t } from "../words/words.ts";

const FIRST = 3;

export function Path({ row }: { row: Row }) {
  const own = <strong title={row.plugin}>{short(row.plugin)}</strong>;
  if (row.kind === "DIRECT") {
    return (
      <span class="path">
        {own} <span class="quiet">{t("row.noTopic")}</span>
      </span>
    );
  }
  if (!row.topics.length) return <span class="path">{own}</span>;
  const topics = <span class="topic">{row.topics.length > FIRST ? some(row.topics) : row.topics.map(linked)}</span>;
  const source = row.kind === "SOURCE";
  return (
    <span class="path">
      {source ? own : <Ends names={row.writers} nobody={t("row.nobodyWrites")} />}
      <span class="arrow">→</span>
      {topics}
      <span class="arrow">→</span>
      {source ? <Ends names={row.readers} nobody={t("row.nobodyReads")} /> : own}
    </span>
  );
}

/** A form of names stands for many. */
function linked(topic: string, index: number) {
  return (
    <span key={topic}>
      {index > 0 && ", "}
      {topic.includes("${") ? topic : <a href={href(["topics", topic])}>{topic}</a>}
    </span>
  );
}

function Ends({ names, nobody }: { names: string[]; nobody: string }) {
  if (!names.length) return <span class="quiet">{nobody}</span>;
  if (names.length > FIRST) return <span title={names.join(", ")}>{some(names)}</span>;
  return (
    <span>
      {names.map((name, index) => (
        <span key={name}>
          {index > 0 && ", "}
          <a href={href(["connectors", name])}>{name}</a>
        </span>
      ))}
    </span>
  );
}

function some(names: string[]): string {
  return t("row.manyEnds", { first: names.slice(0, FIRST - 1).join(", "), more: names.length - FIRST + 1 });
}

/** The last part of a name of a Java class. */
export function short(plugin: string): string {
  return plugin.split(".").at(-1) ?? plugin;
}

// One topic: its queues, who writes and reads it, and its messages.
import { useMemo } from "preact/hooks";

import { ask, type Schemas } from "../../api/client.ts";
import { usePolled } from "../../api/live.ts";
import { href } from "../../model/route.ts";
import { messagesOf, type Topic, usesOf } from "../../model/topics.ts";
import { Old, Trouble } from "../../parts/shown.tsx";
import { Table } from "../../parts/table.tsx";
import { number, t } from "../../words/words.ts";
import { useConnectors } from "../pipelines.tsx";
import { Messages } from "./messages.tsx";
import { Readers, useStates, Writers } from "./topics.tsx";

const EVERY_MS = 5000;

export function TopicPage({ name, query }: { name: string; query: URLSearchParams }) {
  const live = usePolled(
    async (signal) => {
      const asked = new URLSearchParams({ names: name, internal: "true" });
      return (await ask<Schemas["topic.ListTopicsResponse"]>(`v1/topics?${asked}`, { signal })).topics?.[0] ?? null;
    },
    EVERY_MS,
    `topic ${name}`,
  );
  const connectors = useConnectors();
  const states = useStates();
  const all = useMemo(() => [...(connectors.value?.values() ?? [])], [connectors.value]);
  const uses = useMemo(() => usesOf(name, all, states.value ?? new Map()), [all, states.value, name]);
  return (
    <>
      <p class="back">
        <a href={href(["topics"])}>← {t("topics.back")}</a>
      </p>
      <h1>{name}</h1>
      <Trouble of={[live, connectors, states]} />
      {live.value === null && <p class="alert">{t("topics.gone")}</p>}
      {live.value && (
        <Old of={[live]}>
          <div class="facts">
            <span>
              {t("column.messages")}: <b>{number(messagesOf(live.value))}</b>
            </span>
            {uses.writers.length + uses.letters.length > 0 && (
              <span>
                {t("column.writers")}: <Writers uses={uses} />
              </span>
            )}
            {uses.readers.length > 0 && (
              <span>
                {t("column.readers")}: <Readers uses={uses} />
              </span>
            )}
          </div>
          {live.value.trouble && <p class="alert">{live.value.trouble}</p>}
          <details>
            <summary>{t("topics.queues", { count: live.value.queues?.length ?? 0 })}</summary>
            <Queues topic={live.value} />
          </details>
        </Old>
      )}
      {live.value !== null && <Messages key={name} topic={name} connectors={all} query={query} />}
    </>
  );
}

function Queues({ topic }: { topic: Topic }) {
  return (
    <Table columns={["column.queue", "column.earliest", "column.latest"]} numbers={["column.earliest", "column.latest"]}>
      {topic.queues?.map((each) => (
        <tr key={each.queue}>
          <td data-label={t("column.queue")}>
            <code>{each.queue}</code>
          </td>
          <td class="number" data-label={t("column.earliest")}>
            {each.earliest ?? 0}
          </td>
          <td class="number" data-label={t("column.latest")}>
            {each.latest ?? 0}
          </td>
        </tr>
      ))}
    </Table>
  );
}

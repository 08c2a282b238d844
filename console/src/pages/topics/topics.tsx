// All topics, with what is in them and who writes and reads them.
import { useMemo, useState } from "preact/hooks";

import { ask, askAll, type Schemas } from "../../api/client.ts";
import { usePolled } from "../../api/live.ts";
import type { ConnectorState } from "../../model/connectors.ts";
import { go, href } from "../../model/route.ts";
import { messagesOf, type Topic, type Uses, usesOf } from "../../model/topics.ts";
import { Old, Trouble } from "../../parts/shown.tsx";
import { Table } from "../../parts/table.tsx";
import { number, t } from "../../words/words.ts";
import { useConnectors } from "../pipelines.tsx";

const EVERY_MS = 10_000;
const STATES_MS = 3000;
/** Brokers take their time for each topic. */
const PAGE = "50";

async function load(internal: boolean, signal: AbortSignal): Promise<Topic[]> {
  const found: Topic[] = [];
  let next = "";
  do {
    const asked = new URLSearchParams({
      pageSize: PAGE,
      ...(internal && { internal: "true" }),
      ...(next && { pageToken: next }),
    });
    const page = await ask<Schemas["topic.ListTopicsResponse"]>(`v1/topics?${asked}`, { signal });
    found.push(...(page.topics ?? []));
    next = page.nextPageToken ?? "";
  } while (next);
  return found;
}

/** The states of all connectors by uid. */
export function useStates() {
  return usePolled<ReadonlyMap<string, ConnectorState>>(
    async (signal) =>
      new Map((await askAll<ConnectorState>("v1/states", "states", signal)).map((each) => [each.connectorUid ?? "", each])),
    STATES_MS,
    "states",
  );
}

export function Topics({ query }: { query: URLSearchParams }) {
  const [internal, setInternal] = useState(false);
  const topics = usePolled((signal) => load(internal, signal), EVERY_MS, `topics ${internal}`);
  const connectors = useConnectors();
  const states = useStates();
  const search = query.get("q") ?? "";
  const found = useMemo(
    () =>
      (topics.value ?? [])
        .filter((each) => each.name?.toLowerCase().includes(search.toLowerCase()))
        .map((topic) => ({ topic, uses: usesOf(topic.name ?? "", connectors.value?.values() ?? [], states.value ?? new Map()) })),
    [topics.value, connectors.value, states.value, search],
  );
  return (
    <>
      <h1>{t("topics.title")}</h1>
      <search class="filters">
        <label>
          {t("pipelines.search")}
          <input type="search" value={search} onInput={(event) => go(href(["topics"], { q: event.currentTarget.value }), true)} />
        </label>
      </search>
      <label>
        <input type="checkbox" checked={internal} onChange={(event) => setInternal(event.currentTarget.checked)} />
        {t("topics.internal")}
      </label>
      <Trouble of={[topics, connectors, states]} />
      {topics.value && (
        <Old of={[topics]}>
          <p class="quiet" role="status">
            {t("pipelines.shown", { shown: number(found.length), all: number(topics.value.length) })}
          </p>
          {found.length > 0 && <Listed found={found} />}
        </Old>
      )}
    </>
  );
}

function Listed({ found }: { found: { topic: Topic; uses: Uses }[] }) {
  return (
    <Table
      columns={["column.topic", "column.queues", "column.messages", "column.writers", "column.readers"]}
      numbers={["column.queues", "column.messages"]}
    >
      {found.map(({ topic, uses }) => (
        <tr key={topic.name} class={topic.trouble ? "wrong" : ""}>
          <td data-label={t("column.topic")}>
            <a href={href(["topics", topic.name ?? ""])}>{topic.name}</a>
            {topic.internal && <div class="quiet">{t("topics.isInternal")}</div>}
            {topic.trouble && <p class="why">{topic.trouble}</p>}
          </td>
          <td class="number" data-label={t("column.queues")}>
            {topic.trouble ? "–" : number(topic.queues?.length ?? 0)}
          </td>
          <td class="number" data-label={t("column.messages")}>
            {topic.trouble ? "–" : number(messagesOf(topic))}
          </td>
          <td data-label={t("column.writers")}>
            <Writers uses={uses} />
          </td>
          <td data-label={t("column.readers")}>
            <Readers uses={uses} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** Also whose dead letters it holds. */
export function Writers({ uses }: { uses: Uses }) {
  return (
    <div>
      {uses.writers.map((each) => (
        <div key={each}>
          <a href={href(["connectors", each])}>{each}</a>
        </div>
      ))}
      {uses.letters.map((each) => (
        <div key={each}>
          <a href={href(["connectors", each, "letters"])}>{t("topics.letters", { name: each })}</a>
        </div>
      ))}
    </div>
  );
}

/** With what each has left. */
export function Readers({ uses }: { uses: Uses }) {
  return (
    <div>
      {uses.readers.map(({ connector, lag }) => (
        <div key={connector}>
          <a href={href(["connectors", connector])}>{connector}</a>{" "}
          <span class="quiet">
            {lag === null ? "" : t("topics.lag", { lag: lag ? t("lag.messages", { amount: number(lag) }) : t("lag.none") })}
          </span>
        </div>
      ))}
    </div>
  );
}

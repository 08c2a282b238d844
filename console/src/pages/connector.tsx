import { useMemo } from "preact/hooks";

import { ask, askAll, Refused, type Schemas, segment } from "../api/client.ts";
import { usePolled, useStream } from "../api/live.ts";
import { type Connector, type ConnectorState, kindOf, rowsOf, sourcesOf, type State, stateOf, WRONG } from "../model/connectors.ts";
import { href } from "../model/route.ts";
import { samplesOf } from "../model/samples.ts";
import { Charts } from "../parts/charts.tsx";
import { Orders } from "../parts/orders.tsx";
import { Path, short } from "../parts/path.tsx";
import { Ago, Badge, lagText, Old, rateText, Trouble } from "../parts/shown.tsx";
import { moment, t } from "../words/words.ts";
import { Configuration } from "./connector/configuration.tsx";
import { History } from "./connector/history.tsx";
import { Log } from "./connector/log.tsx";
import { Positions } from "./connector/positions.tsx";
import { Tasks } from "./connector/tasks.tsx";
import { Letters } from "./letters/letters.tsx";
import { Verify } from "./verify/verify.tsx";

const TABS = ["tasks", "letters", "configuration", "positions", "verify", "history", "log"] as const;
const SILENT_MS = 30_000;
const CONNECTOR_MS = 3000;
const SAMPLES_MS = 10_000;
const OTHERS_MS = 30_000;

interface Asked {
  name: string;
  tab: string;
  /** What stands behind the tab in the address. */
  rest: string[];
  query: URLSearchParams;
}

export function ConnectorPage({ name, tab, rest, query }: Asked) {
  const path = `v1/connectors/${segment(name)}`;
  const live = useStream<ConnectorState, Schemas["state.WatchConnectorStateResponse"]>(
    `${path}/state:watch`,
    SILENT_MS,
    (line) => line.state ?? {},
  );
  const stored = usePolled(
    async (signal) => (await ask<Schemas["config.GetConnectorResponse"]>(path, { signal })).connector ?? {},
    CONNECTOR_MS,
    path,
  );
  const others = usePolled((signal) => askAll<Connector>("v1/connectors", "connectors", signal), OTHERS_MS, "others");
  const hour = usePolled(
    async (signal) =>
      samplesOf((await ask<Schemas["state.GetConnectorSamplesResponse"]>(`${path}/samples`, { signal })).samples ?? []),
    SAMPLES_MS,
    `${path}/samples`,
  );
  const gone = isGone(stored.trouble?.error);
  const state = gone ? undefined : live.value;
  const connector = gone ? undefined : stored.value;
  const rows = useMemo(() => {
    if (!connector || !others.value) return [];
    const all = [connector, ...others.value.filter((each) => each.uid !== connector.uid)];
    return rowsOf(all, new Map(state ? [[connector.uid ?? "", state]] : []));
  }, [connector, others.value, state]);
  const row = rows.find((each) => each.name === name);
  const isSink = kindOf(connector) === "SINK";
  const tabs = TABS.filter((each) => (gone ? each === "history" : isSink || each !== "verify"));
  const shown = tabs.find((each) => each === tab) ?? tabs[0];
  return (
    <>
      <p class="back">
        <a href={href([])}>← {t("connector.back")}</a>
      </p>
      <h1>
        {name} {state && <Badge state={stateOf(state)} />}
      </h1>
      {gone ? <p class="alert">{t("connector.gone", { name })}</p> : <Trouble of={[live, stored]} />}
      {connector && (
        <Old of={[live, stored]}>
          {row && (
            <p class="facts">
              <Path row={row} />
              <span>
                {t("column.rate")}: <b>{rateText(row.rate)}</b>
              </span>
              <span>
                {t("column.lag")}: <b>{lagText(row.lag)}</b>
              </span>
            </p>
          )}
          {state && <Why state={stateOf(state)} trace={state.trace ?? ""} since={row?.since ?? ""} />}
          <Orders connector={connector} done={() => (stored.again(), live.again())} />
          <p class="quiet">
            {short(connector.config?.["connector.class"] ?? "")}
            {" · "}
            {t("connector.facts", {
              revision: connector.revision ?? "",
              created: connector.createTime ? moment(connector.createTime) : "",
              updated: connector.updateTime ? moment(connector.updateTime) : "",
            })}
          </p>
        </Old>
      )}
      <nav class="tabs" aria-label={t("connector.tabs")}>
        {tabs.map((each) => (
          <a key={each} href={href(["connectors", name, each])} aria-current={each === shown ? "page" : undefined}>
            {t(`connector.tab.${each}`)}
          </a>
        ))}
      </nav>
      {shown === "tasks" && state && (
        <Old of={[live]}>
          <Charts samples={hour.value ?? []} />
          <Tasks name={name} tasks={state.tasks ?? []} />
        </Old>
      )}
      {shown === "letters" && <Letters name={name} path={path} rest={rest} query={query} />}
      {shown === "configuration" && connector && <Configuration connector={connector} />}
      {shown === "positions" && <Positions path={path} connector={connector} />}
      {shown === "verify" && connector && row && <Verify key={name} connector={connector} sources={sourcesOf(row, rows)} />}
      {shown === "history" && <History path={path} connector={connector} done={stored.again} />}
      {shown === "log" && <Log path={path} />}
    </>
  );
}

function isGone(error: Error | undefined): boolean {
  return error instanceof Refused && error.problem.reason === "CONNECTOR_NOT_FOUND";
}

function Why({ state, trace, since }: { state: State; trace: string; since: string }) {
  const wrong = WRONG.includes(state);
  return (
    <section class={wrong ? "alert" : "quiet"} aria-label={wrong ? t("connector.wrong") : undefined}>
      <p>
        {t(`means.${state}`)}{" "}
        {since && (
          <>
            {t("column.since")}: <Ago time={since} />
          </>
        )}
      </p>
      {trace && <pre class="trace">{trace}</pre>}
    </section>
  );
}

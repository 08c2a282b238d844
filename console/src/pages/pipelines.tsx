import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { askAll, type Schemas } from "../api/client.ts";
import { type Live, usePolled, useStream } from "../api/live.ts";
import { type Connector, type ConnectorState, KINDS, type Row, rowsOf, STATES, WRONG } from "../model/connectors.ts";
import { go, href } from "../model/route.ts";
import { useSession } from "../model/session.ts";
import { Choice } from "../parts/choice.tsx";
import { ManyOrders } from "../parts/many.tsx";
import { Path } from "../parts/path.tsx";
import { Ago, Badge, lagText, Old, rateText, Trouble } from "../parts/shown.tsx";
import { Table } from "../parts/table.tsx";
import { number, t } from "../words/words.ts";

const SILENT_MS = 120_000;
const STATES_MS = 2000;
const FIRST_ROWS = 200;

/** All connectors by uid, as they change. */
export function useConnectors(): Live<ReadonlyMap<string, Connector>> {
  return useStream<ReadonlyMap<string, Connector>, Schemas["config.WatchConnectorsResponse"]>(
    "v1/connectors:watch",
    SILENT_MS,
    (line, before) => {
      const next = new Map(line.snapshot ? [] : before);
      for (const each of line.connectors ?? []) next.set(each.uid ?? "", each);
      for (const uid of line.deletedUids ?? []) next.delete(uid);
      return next;
    },
  );
}

export function Pipelines({ query }: { query: URLSearchParams }) {
  const session = useSession();
  const connectors = useConnectors();
  const states = usePolled<ReadonlyMap<string, ConnectorState>>(
    async (signal) => {
      const found = await askAll<ConnectorState>("v1/states", "states", signal);
      return new Map(found.map((each) => [each.connectorUid ?? "", each]));
    },
    STATES_MS,
    "states",
  );
  const rows = useMemo(
    () => rowsOf(connectors.value?.values() ?? [], states.value ?? new Map()),
    [connectors.value, states.value],
  );
  const loaded = connectors.value !== undefined && states.value !== undefined;
  return (
    <>
      <div class="heading">
        <h1>{t("pipelines.title")}</h1>
        <button
          type="button"
          disabled={session.readOnly !== undefined}
          title={session.readOnly && t("connector.readOnly", { why: session.readOnly })}
          onClick={() => go(href(["create"]))}
        >
          {t("create.title")}
        </button>
      </div>
      <Trouble of={[connectors, states]} />
      {loaded && (
        <Old of={[connectors, states]}>
          <Listed rows={rows} query={query} />
        </Old>
      )}
    </>
  );
}

function Listed({ rows, query }: { rows: Row[]; query: URLSearchParams }) {
  const [all, setAll] = useState(false);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [search, state, kind] = [query.get("q") ?? "", query.get("state") ?? "", query.get("kind") ?? ""];
  const found = rows.filter(
    (row) =>
      (!state || row.state === state || (state === "WRONG" && WRONG.includes(row.state))) &&
      (!kind || row.kind === kind) &&
      (!search || text(row).includes(search.toLowerCase())),
  );
  const shown = all ? found : found.slice(0, FIRST_ROWS);
  // Also those that a filter hides now: an order may have changed their states, and its question names them all.
  const meant = rows.filter((row) => chosen.has(row.name));
  const choose = (names: string[], on: boolean) =>
    setChosen(new Set(on ? [...chosen, ...names] : [...chosen].filter((each) => !names.includes(each))));
  if (!rows.length) return <p>{t("pipelines.none")}</p>;
  return (
    <>
      <Filters rows={rows} search={search} state={state} kind={kind} />
      <p class="quiet" role="status">
        {t("pipelines.shown", { shown: number(shown.length), all: number(rows.length) })}
        {found.length < rows.length && (
          <>
            {" · "}
            <a href={href([])}>{t("pipelines.reset")}</a>
          </>
        )}
      </p>
      {meant.length > 0 && <ManyOrders chosen={meant} done={() => setChosen(new Set())} />}
      {found.length ? (
        <Table
          kind="pipelines"
          columns={["column.state", "column.connector", "column.path", "column.rate", "column.lag"]}
          numbers={["column.rate", "column.lag"]}
          first={
            <input
              type="checkbox"
              aria-label={t("many.chooseAll")}
              checked={shown.every((row) => chosen.has(row.name))}
              onChange={(event) => choose(shown.map((row) => row.name), event.currentTarget.checked)}
            />
          }
        >
          {shown.map((row) => (
            <Line key={row.name} row={row} chosen={chosen.has(row.name)} choose={(on) => choose([row.name], on)} />
          ))}
        </Table>
      ) : (
        <p>{t("pipelines.noneFound")}</p>
      )}
      {shown.length < found.length && (
        <button type="button" class="outline" onClick={() => setAll(true)}>
          {t("pipelines.more")}
        </button>
      )}
    </>
  );
}

function text(row: Row): string {
  return [row.name, row.plugin, row.trace, ...row.topics, ...row.writers, ...row.readers].join("\n").toLowerCase();
}

function Line({ row, chosen, choose }: { row: Row; chosen: boolean; choose: (on: boolean) => void }) {
  const wrong = WRONG.includes(row.state);
  return (
    <tr class={wrong ? "wrong" : ""}>
      <td data-label={t("many.choose")}>
        <input
          type="checkbox"
          aria-label={t("many.chooseOne", { name: row.name })}
          checked={chosen}
          onChange={(event) => choose(event.currentTarget.checked)}
        />
      </td>
      <td data-label={t("column.state")}>
        <Badge state={row.state} />
        <div class="quiet">
          <Ago time={row.since} />
        </div>
      </td>
      <td data-label={t("column.connector")}>
        <a href={href(["connectors", row.name])}>{row.name}</a>
        <div class="quiet">
          {t(`kind.${row.kind}`)}
          {row.tasks > 0 && ` · ${t(row.alike === row.tasks ? "row.tasks" : "row.alike", { alike: row.alike, tasks: row.tasks })}`}
        </div>
        {row.deadLetters > 0 && (
          <div>
            <a href={href(["connectors", row.name, "letters"])}>{t("row.deadLetters", { count: number(row.deadLetters) })}</a>
          </div>
        )}
        {wrong && <p class="why">{row.trace || t(`means.${row.state}`)}</p>}
      </td>
      <td data-label={t("column.path")}>
        <Path row={row} />
      </td>
      <td class="number" data-label={t("column.rate")}>
        {rateText(row.rate)}
      </td>
      <td class="number" data-label={t("column.lag")}>
        {lagText(row.lag)}
      </td>
    </tr>
  );
}

function Filters({ rows, search, state, kind }: { rows: Row[]; search: string; state: string; kind: string }) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const typing = event.target instanceof HTMLElement && event.target.matches("input, select, textarea");
      if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      field.current?.focus();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  const choose = (given: Record<string, string>) => go(href([], { q: search, state, kind, ...given }), true);
  const count = (fits: (row: Row) => boolean) => number(rows.filter(fits).length);
  return (
    <search class="filters">
      <label>
        {t("pipelines.search")} <kbd>/</kbd>
        <input
          ref={field}
          type="search"
          value={search}
          placeholder={t("pipelines.searchHint")}
          onInput={(event) => choose({ q: event.currentTarget.value })}
        />
      </label>
      <Choice
        label={t("pipelines.state")}
        value={state}
        of={[
          ["", t("pipelines.all")],
          ["WRONG", `${t("pipelines.wrong")} (${count((row) => WRONG.includes(row.state))})`],
          ...STATES.map((each) => [each, `${t(`state.${each}`)} (${count((row) => row.state === each)})`] as const),
        ]}
        choose={(state) => choose({ state })}
      />
      <Choice
        label={t("pipelines.kind")}
        value={kind}
        of={[
          ["", t("pipelines.all")],
          ...KINDS.map((each) => [each, `${t(`kind.${each}`)} (${count((row) => row.kind === each)})`] as const),
        ]}
        choose={(kind) => choose({ kind })}
      />
    </search>
  );
}

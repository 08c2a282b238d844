import { useMemo, useState } from "preact/hooks";

import { cut, tabulate } from "../../model/values.ts";
import { bytesOf, placeOf, TOLD, type TopicRecord } from "../../model/topics.ts";
import { Table } from "../../parts/table.tsx";
import { Pairs, Rows, Value } from "../../parts/value.tsx";
import { bytes, moment, number, t } from "../../words/words.ts";
import { Trace } from "./trace.tsx";

const FIRST = 300;

interface RecordsOf {
  records: TopicRecord[];
  /** Not as they are. */
  converted: boolean;
  /** What is looked for in their keys. */
  find: string;
  setFind: (find: string) => void;
}

/** Records of messages: one below the other, or, where all are JSON objects, as a table. */
export function Records({ records, converted, find, setFind }: RecordsOf) {
  const [asTable, setAsTable] = useState(false);
  const shown = records.filter((each) => !find || (each.record?.key ?? each.properties?.["KEYS"] ?? "").includes(find));
  const table = useMemo(() => tabulate(shown.map((each) => each.record?.value ?? "")), [shown]);
  return (
    <>
      <div class="views">
        {(["list", "table"] as const).map((each) => (
          <button
            key={each}
            type="button"
            class={`small ${(each === "table") === (asTable && table !== null) ? "secondary" : "outline secondary"}`}
            aria-pressed={(each === "table") === (asTable && table !== null)}
            disabled={each === "table" && table === null}
            onClick={() => setAsTable(each === "table")}
          >
            {t(`records.${each}`)}
          </button>
        ))}
        <input
          type="search"
          class="small"
          aria-label={t("records.key")}
          placeholder={t("records.key")}
          value={find}
          onInput={(event) => setFind(event.currentTarget.value)}
        />
        <span class="quiet" role="status">
          {t("pipelines.shown", { shown: number(shown.length), all: number(records.length) })}
        </span>
      </div>
      {asTable && table ? <Rows table={table} /> : <Listed records={shown} converted={converted} />}
    </>
  );
}

function Listed({ records, converted }: { records: TopicRecord[]; converted: boolean }) {
  return (
    <Table
      kind="messages-found"
      columns={["column.message", "column.key", "column.value", "column.size"]}
      numbers={["column.size"]}
    >
      {records.map((each) => (
        <Line key={placeOf(each)} record={each} converted={converted} />
      ))}
    </Table>
  );
}

function Line({ record, converted }: { record: TopicRecord; converted: boolean }) {
  const [open, setOpen] = useState(false);
  const shown = record.record;
  const value = record.problem ? (record.body ?? "") : (shown?.value ?? "");
  return (
    <tr class={record.problem ? "wrong" : ""}>
      <td data-label={t("column.message")}>
        <code>{placeOf(record)}</code>
        <div class="quiet">
          <time>{record.storeTime && moment(record.storeTime)}</time>
        </div>
      </td>
      <td data-label={t("column.key")}>{shown?.hasKey ? cut(shown.key ?? "", FIRST) : (record.properties?.["KEYS"] ?? "–")}</td>
      <td data-label={t("column.value")}>
        {record.problem && <p class="why">{record.problem}</p>}
        {shown && !shown.hasValue ? <i>{t("records.tombstone")}</i> : <span class="said">{cut(value, FIRST)}</span>}
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>{t("records.whole")}</summary>
          {open && <Whole record={record} value={value} converted={converted} />}
        </details>
      </td>
      <td class="number" data-label={t("column.size")}>
        {bytes(Number(record.bytes ?? 0))}
      </td>
    </tr>
  );
}

function Whole({ record, value, converted }: { record: TopicRecord; value: string; converted: boolean }) {
  const isRaw = record.problem || (!converted && !record.rows);
  const content = useMemo(
    () => (isRaw ? bytesOf(value, Number(record.bytes ?? 0)) : new TextEncoder().encode(value)),
    [value, isRaw, record.bytes],
  );
  const table = useMemo(() => (record.rows ? tabulate([value]) : null), [record.rows, value]);
  const source = record.source;
  return (
    <>
      {value.length >= TOLD && <p class="quiet">{t("records.cut", { most: number(TOLD) })}</p>}
      <Value bytes={content} table={table} label={t("column.value")} />
      {(record.rows ?? 0) > 1 && <p class="quiet">{t("records.row", { row: (record.row ?? 0) + 1, rows: record.rows ?? 0 })}</p>}
      {source && (
        <p class="quiet">
          {t("records.source", { partition: source.partition ?? "", offset: source.offset ?? "", epoch: source.epoch ?? "" })}
        </p>
      )}
      <h3>{t("letter.properties")}</h3>
      <Pairs of={record.properties ?? {}} label={t("letter.properties")} />
      <Trace record={record} />
      {record.record?.schema && (
        <details>
          <summary>{t("records.schema")}</summary>
          <Value bytes={new TextEncoder().encode(record.record.schema)} label={t("records.schema")} />
        </details>
      )}
    </>
  );
}

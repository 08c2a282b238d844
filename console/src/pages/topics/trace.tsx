// What happened to one message: who sent it, where it is stored, and who got it.
import { useState } from "preact/hooks";

import { ask, Away, Refused, segment } from "../../api/client.ts";
import type { TopicRecord } from "../../model/topics.ts";
import { idOf, type Result, RESULTS, type Step, stepsOf, topicOf, type Traced } from "../../model/traces.ts";
import { Refusal } from "../../parts/asking.tsx";
import { Table } from "../../parts/table.tsx";
import { exact, moment, number, t } from "../../words/words.ts";

export function Trace({ record }: { record: TopicRecord }) {
  const [found, setFound] = useState<Traced>();
  const [trouble, setTrouble] = useState<Away | Refused>();
  const [busy, setBusy] = useState(false);
  const id = idOf(record);
  const look = async () => {
    setBusy(true);
    setTrouble(undefined);
    try {
      const query = new URLSearchParams({ messageId: id });
      setFound(await ask<Traced>(`v1/topics/${segment(topicOf(record))}/traces?${query}`));
    } catch (error) {
      if (!(error instanceof Away || error instanceof Refused)) throw error;
      setTrouble(error);
    }
    setBusy(false);
  };
  return (
    <section aria-label={t("trace.title")}>
      <h3>{t("trace.title")}</h3>
      <p class="orders">
        <button type="button" class="outline" disabled={!id || busy} aria-busy={busy} onClick={() => void look()}>
          {t(found ? "trace.again" : "trace.show")}
        </button>
        {!id && <span class="quiet">{t("trace.noId")}</span>}
      </p>
      <div role="status">
        {trouble && <Refusal trouble={trouble} />}
        {found && <Steps steps={stepsOf(record, found)} found={found} />}
      </div>
    </section>
  );
}

function Steps({ steps, found }: { steps: Step[]; found: Traced }) {
  return (
    <>
      <Table
        columns={["column.time", "column.action", "column.group", "column.where", "column.took", "column.result"]}
        numbers={["column.took"]}
      >
        {steps.map((each, index) => (
          <tr key={index} class={each.result && !["success", "committed"].includes(each.result) ? "wrong" : ""}>
            <td data-label={t("column.time")}>{each.time ? moment(each.time) : "–"}</td>
            <td data-label={t("column.action")}>{t(`trace.kind.${each.kind}`)}</td>
            <td data-label={t("column.group")}>{each.who || "–"}</td>
            <td data-label={t("column.where")}>
              <code>{each.where || "–"}</code>
            </td>
            <td class="number" data-label={t("column.took")}>
              {each.milliseconds === null ? "–" : `${exact(each.milliseconds)} ms`}
            </td>
            <td data-label={t("column.result")}>
              {resultOf(each)}
              {each.retries > 0 && <div class="quiet">{t("trace.retry", { count: number(each.retries) })}</div>}
            </td>
          </tr>
        ))}
      </Table>
      {steps.length === 1 && <p class="quiet">{t("trace.none")}</p>}
      {found.trouble && <p class="why">{found.trouble}</p>}
      {(found.garbled ?? 0) > 0 && <p class="quiet">{t("trace.garbled", { count: number(found.garbled ?? 0) })}</p>}
    </>
  );
}

function resultOf(step: Step): string {
  if (!step.result) return step.kind === "CONSUMED" ? t("trace.open") : "–";
  return RESULTS.includes(step.result as Result) ? t(`trace.result.${step.result as Result}`) : step.result;
}

// What a configuration would make of the first records of a source, or of the last ones of the topics of a sink.
import { useState } from "preact/hooks";

import { ask, Away, Refused, type Schemas } from "../../api/client.ts";
import type { Config } from "../../model/form.ts";
import { linesOf } from "../../model/preview.ts";
import { signedOut } from "../../model/session.ts";
import { Refusal } from "../../parts/asking.tsx";
import { Masked } from "../../parts/masked.tsx";
import { Table } from "../../parts/table.tsx";
import { t } from "../../words/words.ts";

const RECORDS = 5;

type Answer = Schemas["config.PreviewConnectorResponse"];
type Step = Schemas["record.PreviewStep"];

/** `may`: it is right, and somebody may ask. What is shown is of the configuration as it is now. */
export function Preview({ config, name, may }: { config: Config; name: string; may: boolean }) {
  const [known, setKnown] = useState<{ of: Config; answer?: Answer; trouble?: Away | Refused }>();
  const [busy, setBusy] = useState(false);
  const look = async () => {
    setBusy(true);
    try {
      const body = { config, name, records: RECORDS };
      setKnown({ of: config, answer: await ask<Answer>("v1/connectors:preview", { method: "POST", body }) });
    } catch (error) {
      if (!(error instanceof Away || error instanceof Refused)) throw error;
      if (error instanceof Refused && error.problem.status === 401) signedOut();
      setKnown({ of: config, trouble: error });
    }
    setBusy(false);
  };
  const shown = known?.of === config ? known : undefined;
  return (
    <section class="preview" aria-label={t("preview.title")}>
      <p class="orders">
        <button type="button" class="outline" disabled={!may || busy} aria-busy={busy} onClick={() => void look()}>
          {t("preview.button")}
        </button>
        <span class="quiet">{t("preview.hint")}</span>
      </p>
      <div role="status">
        {shown?.trouble && <Refusal trouble={shown.trouble} />}
        {shown?.answer && <Records answer={shown.answer} />}
      </div>
    </section>
  );
}

function Records({ answer }: { answer: Answer }) {
  const records = answer.records ?? [];
  return (
    <>
      {records.map((each) => (
        <details key={each.position} open={records.length === 1 || each === records[0]}>
          <summary>
            <code>{each.position}</code>
          </summary>
          <Table columns={["column.step", "column.record"]}>
            {(each.steps ?? []).map((step, index, all) => (
              <tr key={`${index} ${step.name}`} class={step.problem ? "wrong" : ""}>
                <td data-label={t("column.step")}>
                  {step.name}
                  {step.plugin && step.plugin !== step.name && <div class="quiet">{step.plugin}</div>}
                </td>
                <td data-label={t("column.record")} class="said">
                  <Made step={step} before={all[index - 1]} />
                </td>
              </tr>
            ))}
          </Table>
        </details>
      ))}
      <Masked of={answer.masked} />
      {answer.trouble && <p class="why">{t("preview.trouble", { trouble: answer.trouble })}</p>}
      {!records.length && !answer.trouble && <p>{t("preview.none")}</p>}
    </>
  );
}

function Made({ step, before }: { step: Step; before: Step | undefined }) {
  if (step.problem) return <span class="why">{step.problem}</span>;
  if (!step.record) return <span class="quiet">{t("preview.dropped")}</span>;
  return <span>{linesOf(step.record, before?.record).join("\n")}</span>;
}

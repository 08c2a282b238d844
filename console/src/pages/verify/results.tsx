// What was found, table by table, and the first rows that differ. Values are never there: their columns and keys are.
import { resultOf, type TableResult } from "../../model/verify/result.ts";
import { kindOf, KINDS } from "../../model/verify/settling.ts";
import { Table } from "../../parts/table.tsx";
import { exact, t } from "../../words/words.ts";
import type { Found } from "./run.ts";

const SHOWN = 10;
const COUNTED = KINDS.map((each) => `difference.${each}` as const);
const NUMBERS = ["column.rows", "column.equal", ...COUNTED, "column.unsettled"] as const;

export function Results({ found }: { found: Found }) {
  const results = resultOf(found.tables, found.different, found.pending, SHOWN);
  if (!results.length) return <></>;
  return (
    <>
      <Table columns={["column.table", "column.target", ...NUMBERS]} numbers={NUMBERS}>
        {results.map((each) => (
          <Line key={each.table} of={each} />
        ))}
      </Table>
      <p class="quiet">{t("verify.legend")}</p>
      {results.map((each) => (
        <Rows key={each.table} of={each} />
      ))}
    </>
  );
}

function Line({ of }: { of: TableResult }) {
  const wrong = KINDS.some((each) => of.counts[each] > 0);
  return (
    <tr class={wrong ? "wrong" : ""}>
      <td data-label={t("column.table")}>
        <code>{of.table}</code>
        {!of.done && <div class="quiet">{t("verify.goesOn")}</div>}
      </td>
      <td data-label={t("column.target")}>
        <code>{of.target}</code>
      </td>
      <td class="number" data-label={t("column.rows")}>
        {exact(of.rows)}
      </td>
      <td class="number" data-label={t("column.equal")}>
        {exact(of.equal)}
      </td>
      {KINDS.map((each) => (
        <td key={each} class="number" data-label={t(`difference.${each}`)}>
          {exact(of.counts[each])}
        </td>
      ))}
      <td class="number" data-label={t("column.unsettled")}>
        {exact(of.unsettled)}
      </td>
    </tr>
  );
}

function Rows({ of }: { of: TableResult }) {
  const all = KINDS.reduce((sum, each) => sum + of.counts[each], 0);
  if (!all && !of.leftOut.length) return <></>;
  return (
    <section aria-label={of.table}>
      <h2>
        <code>{of.table}</code>
      </h2>
      {of.leftOut.length > 0 && <p class="why warned">{t("verify.leftOut", { columns: of.leftOut.join("; ") })}</p>}
      {all > of.first.length && <p class="quiet">{t("verify.first", { count: exact(of.first.length), all: exact(all) })}</p>}
      {all > 0 && (
        <Table columns={["column.key", "column.difference", "column.about"]}>
          {of.first.map((each) => (
            <tr key={each.key}>
              <td data-label={t("column.key")}>
                <code>{each.key}</code>
              </td>
              <td data-label={t("column.difference")}>{t(`difference.${kindOf(each)}`)}</td>
              <td data-label={t("column.about")}>{each.about}</td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  );
}

// What a configuration has that another has not, option by option.
import { differences } from "../model/connectors.ts";
import type { Config } from "../model/form.ts";
import { t } from "../words/words.ts";
import { Table } from "./table.tsx";

export function Difference({ before, after }: { before: Config; after: Config }) {
  const changed = differences({ ...before }, { ...after });
  if (!changed.length) return <p>{t("difference.none")}</p>;
  return (
    <Table columns={["column.option", "column.before", "column.after"]}>
      {changed.map((each) => (
        <tr key={each.key}>
          <td data-label={t("column.option")}>
            <code>{each.key}</code>
          </td>
          <td data-label={t("column.before")} class="difference">
            {each.before === undefined ? <span class="quiet">{t("difference.notGiven")}</span> : <del>{each.before}</del>}
          </td>
          <td data-label={t("column.after")} class="difference">
            {each.after === undefined ? <span class="quiet">{t("difference.notGiven")}</span> : <ins>{each.after}</ins>}
          </td>
        </tr>
      ))}
    </Table>
  );
}

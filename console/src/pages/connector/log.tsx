import { ask, type Schemas } from "../../api/client.ts";
import { usePolled } from "../../api/live.ts";
import { Old, Trouble } from "../../parts/shown.tsx";
import { Table } from "../../parts/table.tsx";
import { moment, t } from "../../words/words.ts";

const EVERY_MS = 3000;
const MOST = 200;

export function Log({ path }: { path: string }) {
  const live = usePolled(
    (signal) => ask<Schemas["state.ListTaskLogsResponse"]>(`${path}/logs?pageSize=${MOST}`, { signal }),
    EVERY_MS,
    path,
  );
  const lines = [...(live.value?.logs ?? [])].reverse();
  return (
    <>
      <Trouble of={[live]} />
      {live.value && (
        <Old of={[live]}>
          {lines.length ? (
            <>
              <p class="quiet">{t("log.note")}</p>
              <Table columns={["column.time", "column.level", "column.task", "column.message"]}>
                {lines.map((each, index) => (
                  <tr key={`${each.time} ${index}`}>
                    <td data-label={t("column.time")}>{each.time && moment(each.time)}</td>
                    <td data-label={t("column.level")}>
                      <span class={`level ${each.level?.toLowerCase()}`}>{each.level}</span>
                    </td>
                    <td data-label={t("column.task")}>{each.task === -1 ? t("tasks.planning") : each.task}</td>
                    <td data-label={t("column.message")} class="said">
                      {each.message}
                    </td>
                  </tr>
                ))}
              </Table>
            </>
          ) : (
            <p>{t("log.none")}</p>
          )}
        </Old>
      )}
    </>
  );
}

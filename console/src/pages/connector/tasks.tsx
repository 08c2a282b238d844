import { lagOf, rateOf, stateOf, type TaskState, WRONG } from "../../model/connectors.ts";
import { href } from "../../model/route.ts";
import { Ago, Badge, lagText, rateText } from "../../parts/shown.tsx";
import { Table } from "../../parts/table.tsx";
import { moment, number, t } from "../../words/words.ts";

export function Tasks({ name, tasks }: { name: string; tasks: TaskState[] }) {
  if (!tasks.length) return <p>{t("tasks.none")}</p>;
  return (
    <Table
      columns={[
        "column.state",
        "column.task",
        "column.worker",
        "column.rate",
        "column.lag",
        "column.in",
        "column.out",
        "column.errors",
        "column.deadLetters",
      ]}
      numbers={["column.rate", "column.lag", "column.in", "column.out", "column.errors", "column.deadLetters"]}
    >
      {tasks.map((each) => (
        <Line key={each.task} name={name} task={each} />
      ))}
    </Table>
  );
}

function Line({ name, task }: { name: string; task: TaskState }) {
  const state = stateOf(task);
  const metrics = task.metrics;
  const share = Object.entries(task.config ?? {});
  const count = (value: string | undefined) => number(Number(value ?? 0));
  return (
    <tr class={WRONG.includes(state) ? "wrong" : ""}>
      <td data-label={t("column.state")}>
        <Badge state={state} />
        <div class="quiet">
          <Ago time={task.since} />
        </div>
      </td>
      <td data-label={t("column.task")}>
        {task.task === -1 ? t("tasks.planning") : task.task}
        {(task.restarts ?? 0) > 0 && <div class="quiet">{t("tasks.restarts", { count: task.restarts ?? 0 })}</div>}
        {task.trace && <p class="why">{task.trace}</p>}
        {metrics?.warnings?.map((each) => (
          <p class="why warned" key={each.message}>
            {each.time && <span class="quiet">{t("tasks.warning", { time: moment(each.time) })}: </span>}
            {each.message}
          </p>
        ))}
        {metrics?.lastLeftOut && (
          <p class="why warned">
            <span class="quiet">{t("tasks.leftOut")}: </span>
            {metrics.lastLeftOut}
          </p>
        )}
        {share.length > 0 && (
          <details>
            <summary>{t("tasks.share")}</summary>
            <pre>{share.map(([key, value]) => `${key}=${value}`).join("\n")}</pre>
          </details>
        )}
      </td>
      <td class="short" data-label={t("column.worker")}>{task.workerId || "–"}</td>
      <td class="number" data-label={t("column.rate")}>
        {rateText(rateOf([task]))}
      </td>
      <td class="number" data-label={t("column.lag")}>
        {lagText(lagOf([task]))}
      </td>
      <td class="number" data-label={t("column.in")}>
        {count(metrics?.recordsIn)}
      </td>
      <td class="number" data-label={t("column.out")}>
        {count(metrics?.recordsOut)}
      </td>
      <td class="number" data-label={t("column.errors")}>
        {count(metrics?.errors)}
      </td>
      <td class="number" data-label={t("column.deadLetters")}>
        {Number(metrics?.deadLetters ?? 0) ? (
          <a href={href(["connectors", name, "letters"])}>{count(metrics?.deadLetters)}</a>
        ) : (
          count(undefined)
        )}
      </td>
    </tr>
  );
}

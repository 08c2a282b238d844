import { ask, askAll, Refused } from "../api/client.ts";
import { usePolled } from "../api/live.ts";
import type { Worker } from "../model/connectors.ts";
import { href } from "../model/route.ts";
import { useSession } from "../model/session.ts";
import { Ago, Old, Trouble } from "../parts/shown.tsx";
import { Table } from "../parts/table.tsx";
import { number, t } from "../words/words.ts";
import { Draining } from "./cluster/draining.tsx";
import { Levels } from "./cluster/levels.tsx";
import { Secrets } from "./cluster/secrets.tsx";

const TABS = ["workers", "levels", "secrets"] as const;
const EVERY_MS = 3000;

interface Readiness {
  ready: boolean;
  services: Record<string, string>;
}

/** The gateway answers 503, with the same content, while a service is not well. */
async function readiness(signal: AbortSignal): Promise<Readiness> {
  try {
    return await ask<Readiness>("readyz", { signal });
  } catch (error) {
    const said = error instanceof Refused ? (error.problem as unknown as Partial<Readiness>).services : undefined;
    if (said === undefined) throw error;
    return { ready: false, services: said };
  }
}

export function Cluster({ tab }: { tab: string }) {
  const shown = TABS.find((each) => each === tab) ?? TABS[0];
  return (
    <>
      <h1>{t("cluster.title")}</h1>
      <nav class="tabs" aria-label={t("cluster.tabs")}>
        {TABS.map((each) => (
          <a
            key={each}
            href={href(["cluster", ...(each === TABS[0] ? [] : [each])])}
            aria-current={each === shown ? "page" : undefined}
          >
            {t(`cluster.tab.${each}`)}
          </a>
        ))}
      </nav>
      {shown === "workers" && <Processes />}
      {shown === "levels" && <Levels />}
      {shown === "secrets" && <Secrets />}
    </>
  );
}

function Processes() {
  const session = useSession();
  const workers = usePolled((signal) => askAll<Worker>("v1/workers", "workers", signal), EVERY_MS, "workers");
  const ready = usePolled(readiness, EVERY_MS, "readyz");
  return (
    <>
      <Trouble of={[ready, workers]} />
      <h2>{t("cluster.services")}</h2>
      {ready.value && (
        <Old of={[ready]}>
          <Table columns={["column.service", "column.state"]}>
            {Object.entries(ready.value.services).map(([name, said]) => (
              <tr key={name} class={said === "SERVING" ? "" : "wrong"}>
                <td data-label={t("column.service")}>{name}</td>
                <td data-label={t("column.state")}>
                  <span class={`badge ${said === "SERVING" ? "running" : "failed"}`}>
                    {said === "SERVING" ? t("cluster.well") : t("cluster.unwell", { said })}
                  </span>
                </td>
              </tr>
            ))}
          </Table>
        </Old>
      )}
      <h2>{t("cluster.workers")}</h2>
      {session.readOnly !== undefined && <p class="quiet">{t("connector.readOnly", { why: session.readOnly })}</p>}
      {workers.value && (
        <Old of={[workers]}>
          {workers.value.length ? <Workers workers={workers.value} done={workers.again} /> : <p>{t("cluster.noWorkers")}</p>}
        </Old>
      )}
    </>
  );
}

function Workers({ workers, done }: { workers: Worker[]; done: () => void }) {
  return (
    <Table
      columns={[
        "column.state",
        "column.worker",
        "column.address",
        "column.tasks",
        "column.weight",
        "column.lease",
        "column.labels",
        "column.order",
      ]}
      numbers={["column.tasks", "column.weight"]}
    >
      {workers.map((each) => (
        <tr key={each.workerId} class={each.alive ? "" : "wrong"}>
          <td data-label={t("column.state")}>
            <span class={`badge ${!each.alive ? "failed" : each.drained ? "paused" : "running"}`}>
              {!each.alive ? t("cluster.dead") : each.drained ? t("cluster.drained") : t("cluster.alive")}
            </span>
          </td>
          <td data-label={t("column.worker")}>
            {each.workerId}
            <div class="quiet" title={(each.plugins ?? []).join(", ")}>
              {t("cluster.plugins", { count: each.plugins?.length ?? 0 })}
            </div>
          </td>
          <td data-label={t("column.address")}>{each.address}</td>
          <td class="number" data-label={t("column.tasks")}>
            {number(each.tasks ?? 0)}
          </td>
          <td class="number" data-label={t("column.weight")}>
            {number(each.weight ?? 1)}
          </td>
          <td data-label={t("column.lease")}>{each.alive ? "" : <Ago time={each.leaseUntil} />}</td>
          <td data-label={t("column.labels")}>
            {Object.entries(each.labels ?? {})
              .map(([name, value]) => `${name}=${value}`)
              .join(", ")}
          </td>
          <td data-label={t("column.order")}>
            <Draining worker={each} done={done} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

import { useState } from "preact/hooks";

import { ask, type Schemas } from "../../api/client.ts";
import { usePolled } from "../../api/live.ts";
import type { Connector, Position } from "../../model/connectors.ts";
import { useSession } from "../../model/session.ts";
import { Ago, Old, Trouble } from "../../parts/shown.tsx";
import { Table } from "../../parts/table.tsx";
import { t } from "../../words/words.ts";
import { Move } from "./move.tsx";

const EVERY_MS = 3000;
const STEP = 200;
const MOST = 1000;

export function Positions({ path, connector }: { path: string; connector: Connector | undefined }) {
  const session = useSession();
  const [moving, setMoving] = useState(false);
  const [size, setSize] = useState(STEP);
  const [runtime, setRuntime] = useState(false);
  const live = usePolled(
    (signal) => ask<Schemas["position.ListPositionsResponse"]>(`${path}/positions?pageSize=${size}`, { signal }),
    EVERY_MS,
    `${path} ${size}`,
  );
  const positions = live.value?.positions ?? [];
  const shown = positions.filter((each) => runtime || !each.partition?.startsWith("~"));
  return (
    <>
      <Trouble of={[live]} />
      {live.value && (
        <Old of={[live]}>
          {connector && (
            <p class="orders">
              <button
                type="button"
                class="outline"
                disabled={session.readOnly !== undefined}
                title={session.readOnly}
                onClick={() => setMoving(true)}
              >
                {t("move.button")}
              </button>
            </p>
          )}
          {positions.length > shown.length || runtime ? (
            <label>
              <input type="checkbox" checked={runtime} onChange={(event) => setRuntime(event.currentTarget.checked)} />
              {t("positions.runtime")}
            </label>
          ) : null}
          {shown.length ? <Listed positions={shown} /> : <p>{t("positions.none")}</p>}
          {live.value.nextPageToken && size < MOST && (
            <button type="button" class="outline" onClick={() => setSize(Math.min(MOST, size + STEP))}>
              {t("positions.more")}
            </button>
          )}
        </Old>
      )}
      {moving && connector && (
        <Move
          path={path}
          connector={connector}
          positions={positions.filter((each) => !each.partition?.startsWith("~"))}
          close={(given) => {
            setMoving(false);
            if (given) live.again();
          }}
        />
      )}
    </>
  );
}

function Listed({ positions }: { positions: Position[] }) {
  return (
    <Table columns={["column.partition", "column.offset", "column.changed"]}>
      {positions.map((each) => (
        <tr key={each.partition}>
          <td data-label={t("column.partition")}>
            <code>{each.partition}</code>
          </td>
          <td data-label={t("column.offset")}>
            <code>{each.offset}</code>
          </td>
          <td data-label={t("column.changed")}>
            <Ago time={each.updateTime} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

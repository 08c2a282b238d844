// An earlier configuration once more, and, of a connector that is stopped, where it was when that one ended.
import { useState } from "preact/hooks";

import { ask, askAll, type Schemas } from "../../api/client.ts";
import { usePolled } from "../../api/live.ts";
import { type Connector, differences, type Revision, wantedOf } from "../../model/connectors.ts";
import { endOf } from "../../model/moving.ts";
import { Asking, Reason } from "../../parts/asking.tsx";
import { Difference } from "../../parts/difference.tsx";
import { notice } from "../../parts/notice.tsx";
import { Trouble } from "../../parts/shown.tsx";
import { moment, number, t } from "../../words/words.ts";

const EVERY_MS = 30_000;

interface Of {
  path: string;
  connector: Connector;
  revision: Revision;
  close: (given: boolean) => void;
}

export function Rollback({ path, connector, revision, close }: Of) {
  const [reason, setReason] = useState("");
  const [moves, setMoves] = useState(false);
  // What is rolled back is what was seen when the question was asked.
  const [{ name = "", etag = "", config = {} }] = useState(connector);
  const [written, setWritten] = useState(false);
  const ends = usePolled(
    (signal) => askAll<Schemas["position.PositionSnapshot"]>(`${path}/positions/snapshots`, "snapshots", signal),
    EVERY_MS,
    path,
  );
  const earlier = revision.revision ?? "";
  const wanted = revision.config ?? {};
  const same = !differences({ ...config }, { ...wanted }).length;
  const end = endOf(ends.value ?? [], Number(earlier));
  const stopped = wantedOf(connector) === "STOPPED";
  const give = async () => {
    if (!same && !written) {
      await ask(`${path}:rollback`, { method: "POST", body: { revision: earlier, etag, reason: reason.trim() } });
      setWritten(true);
    }
    if (moves) await ask(`${path}/positions:restore`, { method: "POST", body: { revision: earlier } });
    notice(t(moves ? "rollback.doneBoth" : "rollback.done", { name, revision: earlier }));
  };
  return (
    <Asking
      title={t("rollback.title", { name, revision: earlier })}
      answer={t("rollback.give")}
      ready={!same || moves}
      wide
      give={give}
      close={(given) => close(given || written)}
    >
      <p>{t("rollback.consequence")}</p>
      <Difference before={config} after={wanted} />
      <Trouble of={[ends]} />
      <label>
        <input
          type="checkbox"
          checked={moves}
          disabled={!end || !stopped}
          aria-describedby="rollback-positions"
          onChange={(event) => setMoves(event.currentTarget.checked)}
        />
        {t("rollback.positions", { revision: earlier })}
      </label>
      <p class="quiet" id="rollback-positions">
        {ends.value &&
          (!end
            ? t("rollback.noEnd")
            : stopped
              ? t("rollback.again", { count: number(Number(end.positions ?? 0)), time: end.time ? moment(end.time) : "" })
              : t("rollback.notStopped"))}
      </p>
      {written && <p class="alert">{t("rollback.half", { revision: earlier })}</p>}
      <Reason value={reason} change={setReason} />
    </Asking>
  );
}

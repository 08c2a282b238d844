// Takes a worker out of the work, or back into it.
import { useState } from "preact/hooks";

import { ask, Refused, segment } from "../../api/client.ts";
import type { Worker } from "../../model/connectors.ts";
import { useSession } from "../../model/session.ts";
import { Asking } from "../../parts/asking.tsx";
import { notice } from "../../parts/notice.tsx";
import { t } from "../../words/words.ts";

export function Draining({ worker, done }: { worker: Worker; done: () => void }) {
  const session = useSession();
  const [asked, setAsked] = useState(false);
  const [alone, setAlone] = useState(false);
  const [force, setForce] = useState(false);
  const order = worker.drained ? "undrain" : "drain";
  const name = worker.workerId ?? "";
  const close = () => {
    setAsked(false);
    setAlone(false);
    setForce(false);
  };
  const give = async () => {
    try {
      await ask(`v1/workers/${segment(name)}:${order}`, { method: "POST", body: order === "drain" ? { force } : {} });
    } catch (error) {
      // Then people may want it all the same.
      if (error instanceof Refused && error.problem.reason === "NO_OTHER_WORKER") setAlone(true);
      throw error;
    }
    notice(t(`work.${order}.done`, { name }));
    done();
  };
  return (
    <>
      <button
        type="button"
        class="outline small"
        disabled={session.readOnly !== undefined || (!worker.alive && order === "drain")}
        title={session.readOnly}
        onClick={() => setAsked(true)}
      >
        {t(`work.${order}.order`)}
      </button>
      {asked && (
        <Asking title={t(`work.${order}.title`, { name })} answer={t(`work.${order}.answer`)} close={close} give={give}>
          <p>{t(`work.${order}.consequence`)}</p>
          {alone && (
            <label>
              <input type="checkbox" checked={force} onChange={(event) => setForce(event.currentTarget.checked)} />
              {t("work.force")}
            </label>
          )}
        </Asking>
      )}
    </>
  );
}

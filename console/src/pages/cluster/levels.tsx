// What processes log, and changing it while they run.
import { useState } from "preact/hooks";

import { ask, Away, Refused, type Schemas, segment } from "../../api/client.ts";
import { usePolled } from "../../api/live.ts";
import { useSession } from "../../model/session.ts";
import { Refusal } from "../../parts/asking.tsx";
import { notice } from "../../parts/notice.tsx";
import { Old, Trouble } from "../../parts/shown.tsx";
import { moment, t } from "../../words/words.ts";

type Process = Schemas["logging.ProcessLevels"];

const EVERY_MS = 5000;
const LEVELS = ["DEBUG", "INFO", "WARNING", "ERROR", "UNSPECIFIED"] as const;
const MINUTES = ["10", "60", "720", ""] as const;

export function Levels() {
  const live = usePolled(
    async (signal) => (await ask<Schemas["logging.GetLogLevelsResponse"]>("v1/loggers", { signal })).processes ?? [],
    EVERY_MS,
    "loggers",
  );
  return (
    <>
      <Trouble of={[live]} />
      {!live.value && !live.trouble && <p aria-busy="true">{t("app.loading")}</p>}
      {live.value && (
        <Old of={[live]}>
          <Setting processes={live.value} done={live.again} />
          <Listed processes={live.value} />
        </Old>
      )}
    </>
  );
}

function nameOf(process: Process): string {
  return process.workerId || (process.service ?? "");
}

function Setting({ processes, done }: { processes: Process[]; done: () => void }) {
  const session = useSession();
  const [given, setGiven] = useState({ logger: "root", level: "DEBUG", of: "", connector: "", minutes: "10" });
  const [trouble, setTrouble] = useState<Away | Refused>();
  const [busy, setBusy] = useState(false);
  const change = (next: Partial<typeof given>) => setGiven({ ...given, ...next });
  const set = async () => {
    setBusy(true);
    setTrouble(undefined);
    const worker = processes.find((each) => each.workerId && each.workerId === given.of);
    const body = {
      level: `LOG_LEVEL_${given.level}`,
      ...(worker ? { workerId: given.of } : { service: given.of }),
      connector: given.connector.trim(),
      ...(given.minutes && { lasts: `${Number(given.minutes) * 60}s` }),
    };
    try {
      await ask(`v1/loggers/${segment(given.logger.trim())}`, { method: "PUT", body });
      notice(t("levels.done", { logger: given.logger }));
      done();
    } catch (error) {
      if (!(error instanceof Away || error instanceof Refused)) throw error;
      setTrouble(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      class="messages"
      onSubmit={(event) => {
        event.preventDefault();
        void set();
      }}
    >
      <label>
        {t("levels.logger")}
        <input
          required
          autoComplete="off"
          value={given.logger}
          onInput={(event) => change({ logger: event.currentTarget.value })}
        />
      </label>
      <label>
        {t("column.level")}
        <select value={given.level} onChange={(event) => change({ level: event.currentTarget.value })}>
          {LEVELS.map((each) => (
            <option key={each} value={each}>
              {each === "UNSPECIFIED" ? t("levels.asStarted") : each}
            </option>
          ))}
        </select>
      </label>
      <label>
        {t("levels.of")}
        <select value={given.of} onChange={(event) => change({ of: event.currentTarget.value })}>
          <option value="">{t("pipelines.all")}</option>
          {[...new Set(processes.map(nameOf))].map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
      </label>
      <label>
        {t("levels.connector")}
        <input autoComplete="off" value={given.connector} onInput={(event) => change({ connector: event.currentTarget.value })} />
      </label>
      <label>
        {t("levels.lasts")}
        <select value={given.minutes} onChange={(event) => change({ minutes: event.currentTarget.value })}>
          {MINUTES.map((each) => (
            <option key={each} value={each}>
              {each ? t("levels.minutes", { minutes: each }) : t("levels.untilEnd")}
            </option>
          ))}
        </select>
      </label>
      <button
        type="submit"
        class="outline"
        disabled={busy || session.readOnly !== undefined}
        title={session.readOnly}
        aria-busy={busy}
      >
        {t("levels.set")}
      </button>
      {session.readOnly !== undefined && <p class="quiet">{t("connector.readOnly", { why: session.readOnly })}</p>}
      {trouble && <Refusal trouble={trouble} />}
    </form>
  );
}

function Listed({ processes }: { processes: Process[] }) {
  return (
    <table class="cards">
      <thead>
        <tr>
          <th scope="col">{t("column.process")}</th>
          <th scope="col">{t("column.address")}</th>
          <th scope="col">{t("column.level")}</th>
        </tr>
      </thead>
      <tbody>
        {processes.map((each) => (
          <tr key={`${nameOf(each)} ${each.address}`} class={each.problem ? "wrong" : ""}>
            <td data-label={t("column.process")}>{nameOf(each)}</td>
            <td data-label={t("column.address")}>{each.address}</td>
            <td data-label={t("column.level")}>
              <div>
                {each.problem && <p class="why">{each.problem}</p>}
                {each.levels?.map((level) => (
                  <div key={`${level.logger} ${level.connector}`}>
                    <code>{level.logger}</code> {level.level?.replace("LOG_LEVEL_", "")}{" "}
                    <span class="quiet">
                      {level.connector && t("levels.only", { connector: level.connector })}{" "}
                      {level.until && t("levels.until", { time: moment(level.until) })}
                    </span>
                  </div>
                ))}
              </div>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

// What processes log, and changing it while they run.
import { useState } from "preact/hooks";

import { ask, Away, Refused, type Schemas, segment } from "../../api/client.ts";
import { usePolled } from "../../api/live.ts";
import { useSession } from "../../model/session.ts";
import { Refusal } from "../../parts/asking.tsx";
import { Choice } from "../../parts/choice.tsx";
import { notice } from "../../parts/notice.tsx";
import { Old, Trouble } from "../../parts/shown.tsx";
import { Table } from "../../parts/table.tsx";
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
      <Choice
        label={t("column.level")}
        value={given.level}
        of={LEVELS.map((each) => [each, each === "UNSPECIFIED" ? t("levels.asStarted") : each])}
        choose={(level) => change({ level })}
      />
      <Choice
        label={t("levels.of")}
        value={given.of}
        of={[["", t("pipelines.all")], ...[...new Set(processes.map(nameOf))].map((each) => [each, each] as const)]}
        choose={(of) => change({ of })}
      />
      <label>
        {t("levels.connector")}
        <input autoComplete="off" value={given.connector} onInput={(event) => change({ connector: event.currentTarget.value })} />
      </label>
      <Choice
        label={t("levels.lasts")}
        value={given.minutes}
        of={MINUTES.map((each) => [each, each ? t("levels.minutes", { minutes: each }) : t("levels.untilEnd")])}
        choose={(minutes) => change({ minutes })}
      />
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
    <Table columns={["column.process", "column.address", "column.level"]}>
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
    </Table>
  );
}

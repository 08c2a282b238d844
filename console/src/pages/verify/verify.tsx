// Whether what a sink keeps is what its source has: asked for, followed page by page, told table by table, and repaired.
import { useEffect, useRef, useState } from "preact/hooks";

import { ask, askAll, Away, Refused } from "../../api/client.ts";
import type { Connector } from "../../model/connectors.ts";
import { repairOf } from "../../model/verify/repair.ts";
import { useSession } from "../../model/session.ts";
import { exact, t } from "../../words/words.ts";
import { Ended } from "./ended.tsx";
import { Given, START } from "./given.tsx";
import { Moving } from "./moving.tsx";
import { Repairing } from "./repairing.tsx";
import { Results } from "./results.tsx";
import { type Found, NotCompared, type Options, type Progress, Run } from "./run.ts";

interface Of {
  /** The sink. */
  connector: Connector;
  sources: readonly string[];
}

export function Verify({ connector, sources }: Of) {
  const session = useSession();
  const name = connector.name ?? "";
  const [given, setGiven] = useState(START);
  const [progress, setProgress] = useState<Progress>();
  const [found, setFound] = useState<Found>();
  const [trouble, setTrouble] = useState<Away | Refused | NotCompared>();
  const [stopped, setStopped] = useState(false);
  const [asks, setAsks] = useState(false);
  const run = useRef<Run | undefined>(undefined);
  const ending = useRef<AbortController | undefined>(undefined);
  const [source, setSource] = useState("");
  useEffect(() => () => ending.current?.abort(), []);
  const follow = async (does: (run: Run, signal: AbortSignal) => Promise<void>) => {
    const current = run.current;
    if (!current) return;
    const { signal } = (ending.current = new AbortController());
    setTrouble(undefined);
    setStopped(false);
    try {
      await does(current, signal);
    } catch (error) {
      if (signal.aborted) setStopped(true);
      else if (error instanceof Away || error instanceof Refused || error instanceof NotCompared) setTrouble(error);
      else throw error;
    } finally {
      setProgress(undefined);
      setFound(current.found);
    }
  };
  const start = (options: Omit<Options, "sink">) => {
    setSource(options.source);
    run.current = new Run({ ask, askAll }, { ...options, sink: name }, (now, so) => {
      setProgress(now);
      setFound(so);
    });
    void follow((each, signal) => each.compare(signal));
  };
  if (!sources.length) return <p>{t("verify.noSource")}</p>;
  const different = found?.different ?? [];
  return (
    <>
      <p class="quiet">{t("verify.note")}</p>
      <Given
        given={given}
        change={setGiven}
        sources={sources}
        busy={progress !== undefined}
        refused={session.readOnly}
        start={start}
        stop={() => ending.current?.abort()}
      />
      {progress && <Moving progress={progress} source={source} />}
      {trouble && <Ended trouble={trouble} />}
      {found && !progress && found.tables.length > 0 && <Summary found={found} failed={trouble !== undefined} stopped={stopped} />}
      {found && <Results found={found} />}
      {different.length > 0 && !progress && (
        <p class="orders">
          <button
            type="button"
            class="outline"
            disabled={session.readOnly !== undefined}
            title={session.readOnly}
            onClick={() => setAsks(true)}
          >
            {t("verify.repair")}
          </button>
        </p>
      )}
      {asks && (
        <Repairing
          source={source}
          sink={name}
          repair={repairOf(different, connector.config?.["delete.enabled"]?.toLowerCase() === "true")}
          close={(repair) => {
            setAsks(false);
            if (repair) void follow((each, signal) => each.repair(repair, signal));
          }}
        />
      )}
    </>
  );
}

/** What came out, once nothing goes on any more. */
function Summary({ found, failed, stopped }: { found: Found; failed: boolean; stopped: boolean }) {
  const [differ, unsettled] = [found.different.length, found.pending.length];
  return (
    <div role="status">
      {found.repaired > 0 && <p>{t("verify.repaired", { count: exact(found.repaired) })}</p>}
      {differ > 0 && <p>{t("verify.differ", { count: exact(differ) })}</p>}
      {unsettled > 0 && <p>{t("verify.unsettled", { count: exact(unsettled) })}</p>}
      {stopped && <p>{t("verify.stopped")}</p>}
      {!found.complete && !stopped && !failed && <p>{t("verify.early")}</p>}
      {found.complete && !differ && !unsettled && <p>{t("verify.equal")}</p>}
    </div>
  );
}

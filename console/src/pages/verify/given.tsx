// What is compared: the options of `rocketconnect verify`.
import { targetsOf } from "../../model/verify/result.ts";
import { Choice } from "../../parts/choice.tsx";
import { t } from "../../words/words.ts";
import type { Options } from "./run.ts";

export const START = { source: "", tables: "", limit: "10000", seconds: "10" };
const MOST = 1_000_000;

interface Of {
  given: typeof START;
  change: (given: typeof START) => void;
  sources: readonly string[];
  busy: boolean;
  /** Why nothing may be started; undefined: it may. */
  refused: string | undefined;
  start: (options: Omit<Options, "sink">) => void;
  stop: () => void;
}

export function Given({ given, change, sources, busy, refused, start, stop }: Of) {
  const source = sources.find((each) => each === given.source) ?? sources[0] ?? "";
  return (
    <form
      class="messages"
      onSubmit={(event) => {
        event.preventDefault();
        start({ source, tables: targetsOf(given.tables), limit: Number(given.limit), waitMs: Number(given.seconds) * 1000 });
      }}
    >
      <Choice
        label={t("verify.source")}
        value={source}
        of={sources.map((each) => [each, each])}
        choose={(next) => change({ ...given, source: next })}
      />
      <label>
        {t("verify.tables")}
        <textarea
          rows={1}
          spellcheck={false}
          placeholder={t("verify.tablesHint")}
          value={given.tables}
          onInput={(event) => change({ ...given, tables: event.currentTarget.value })}
        />
      </label>
      <label>
        {t("verify.limit")}
        <input
          required
          type="number"
          min={1}
          max={MOST}
          value={given.limit}
          onInput={(event) => change({ ...given, limit: event.currentTarget.value })}
        />
      </label>
      <label>
        {t("verify.seconds")}
        <input
          required
          type="number"
          min={0.1}
          step="any"
          value={given.seconds}
          onInput={(event) => change({ ...given, seconds: event.currentTarget.value })}
        />
      </label>
      {/* Two buttons: one that became the other while it is pressed would start again what it has stopped. */}
      {busy ? (
        <button key="stop" type="button" class="outline" onClick={stop}>
          {t("verify.stop")}
        </button>
      ) : (
        <button key="start" type="submit" disabled={refused !== undefined} title={refused}>
          {t("verify.start")}
        </button>
      )}
    </form>
  );
}

import { useEffect, useMemo, useState } from "preact/hooks";

import { ask, Away, Refused } from "../../api/client.ts";
import { type Chosen, ordered, outcomeOf, type Planned } from "../../model/letters.ts";
import { go, href } from "../../model/route.ts";
import { Asking, Refusal } from "../../parts/asking.tsx";
import { number, t } from "../../words/words.ts";

interface Given {
  name: string;
  path: string;
  which: Chosen;
  close: (given: boolean) => void;
}

/** What is told of a plan besides how many go. */
const LEFT = ["cut", "unmade", "replayed", "discarded", "copies"] as const;

/** Asks whether letters are to be sent again, and says before what would become of them. */
export function Replaying({ name, path, which, close }: Given) {
  const [[asked]] = useState([ordered(which)]);
  const [options, setOptions] = useState({ to: "", createTopic: false, ifNewer: false, again: false });
  const [plan, setPlan] = useState<Planned>();
  const [trouble, setTrouble] = useState<Away | Refused>();
  // The same order, when no answer came to it, is the same replay.
  const requestId = useMemo(newId, [options]);
  const order = (more: object, signal?: AbortSignal) =>
    ask<Planned>(`${path}/deadLetters:replay`, { method: "POST", body: { ...asked, ...options, ...more }, signal });
  useEffect(() => {
    const ending = new AbortController();
    setPlan(undefined);
    setTrouble(undefined);
    order({ dryRun: true }, ending.signal).then(setPlan, (error: unknown) => {
      if (ending.signal.aborted) return;
      if (!(error instanceof Away || error instanceof Refused)) throw error;
      setTrouble(error);
    });
    return () => ending.abort();
  }, [options]);
  const count = Number(plan?.count ?? 0);
  const change = (given: Partial<typeof options>) => setOptions({ ...options, ...given });
  return (
    <Asking
      title={t("replay.title")}
      answer={count ? t("replay.answer", { count: number(count) }) : t("replay.none")}
      ready={count > 0}
      close={close}
      give={async () => {
        const done = await order({ requestId });
        if (done.replay) go(href(["connectors", name, "letters", "replays", done.replay]));
      }}
    >
      <p>{t("replay.consequence", { name })}</p>
      <details>
        <summary>{t("replay.options")}</summary>
        <label>
          {t("replay.to")}
          <input autoComplete="off" value={options.to} onChange={(event) => change({ to: event.currentTarget.value.trim() })} />
        </label>
        {options.to && (
          <Switch label={t("replay.createTopic")} on={options.createTopic} set={(createTopic) => change({ createTopic })} />
        )}
        <Switch label={t("replay.ifNewer")} on={options.ifNewer} set={(ifNewer) => change({ ifNewer })} />
        {!which.ids.length && <Switch label={t("replay.again")} on={options.again} set={(again) => change({ again })} />}
      </details>
      {trouble && <Refusal trouble={trouble} />}
      {!plan && !trouble && <p aria-busy="true">{t("replay.looking")}</p>}
      {plan && <Told plan={plan} ifNewer={options.ifNewer} />}
    </Asking>
  );
}

function Told({ plan, ifNewer }: { plan: Planned; ifNewer: boolean }) {
  const count = Number(plan.count ?? 0);
  return (
    <div role="status">
      <p>
        {count
          ? t(ifNewer ? "replay.upTo" : "replay.count", { count: number(count), topic: plan.topic ?? "" })
          : t("replay.nothing")}
      </p>
      <ul>
        {LEFT.filter((each) => Number(plan[each] ?? 0) > 0).map((each) => (
          <li key={each}>{t(`replay.left.${each}`, { count: number(Number(plan[each])) })}</li>
        ))}
      </ul>
      <ul class="outcomes">
        {plan.outcomes?.map((each) => (
          <li key={each.id}>
            <code>{each.id}</code> {t(`outcome.${outcomeOf(each.outcome)}`)}
            {each.reason && <p class={outcomeOf(each.outcome) === "FAILS" ? "why" : "quiet"}>{each.reason}</p>}
          </li>
        ))}
      </ul>
    </div>
  );
}

function Switch({ label, on, set }: { label: string; on: boolean; set: (on: boolean) => void }) {
  return (
    <label>
      <input type="checkbox" checked={on} onChange={(event) => set(event.currentTarget.checked)} />
      {label}
    </label>
  );
}

/** Nobody else has it; `randomUUID` is there only where nobody can listen. */
function newId(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((each) => each.toString(16).padStart(2, "0")).join("");
}

// An order to several connectors that were chosen, with what became of it at each.
import { useState } from "preact/hooks";

import { Away, Refused } from "../api/client.ts";
import type { Row } from "../model/connectors.ts";
import { giveAll, type Many, MANY, meant } from "../model/many.ts";
import { useSession } from "../model/session.ts";
import { number, t } from "../words/words.ts";
import { Asking, Reason } from "./asking.tsx";
import { send } from "./orders.tsx";

export function ManyOrders({ chosen, done }: { chosen: Row[]; done: () => void }) {
  const session = useSession();
  const [asked, setAsked] = useState<Many | null>(null);
  return (
    <>
      <section class="orders" aria-label={t("many.group")}>
        <span>{t("many.chosen", { count: number(chosen.length) })}</span>
        {MANY.map((each) => (
          <button
            key={each}
            type="button"
            class="outline"
            disabled={session.readOnly !== undefined || !meant(each, chosen).about.length}
            title={session.readOnly}
            onClick={() => setAsked(each)}
          >
            {t(`order.${each}`)}
          </button>
        ))}
        <button type="button" class="outline secondary" onClick={done}>
          {t("many.none")}
        </button>
      </section>
      {asked && <Confirmation order={asked} chosen={chosen} close={() => setAsked(null)} />}
    </>
  );
}

type Result = "done" | Away | Refused;

function Confirmation({ order, chosen, close }: { order: Many; chosen: Row[]; close: () => void }) {
  const [reason, setReason] = useState("");
  // Whom it is about is what was seen when the question was asked: their states change with the order.
  const [{ about, already }] = useState(() => meant(order, chosen));
  const [results, setResults] = useState<ReadonlyMap<string, Result>>(new Map());
  const give = async () => {
    if (results.size) return true;
    await giveAll(
      about,
      (name) => send(order, name, reason.trim(), ""),
      (name, error) => {
        if (error && !(error instanceof Away || error instanceof Refused)) throw error;
        setResults((before) => new Map([...before, [name, (error as Away | Refused | undefined) ?? "done"]]));
      },
    );
    return false;
  };
  return (
    <Asking
      title={t(`many.${order}.title`, { count: number(about.length) })}
      answer={t(results.size ? "app.close" : `order.${order}`)}
      give={give}
      close={close}
    >
      {!results.size && <p>{t(`order.${order}.consequence`, { uid: "" })}</p>}
      <div role="status">
        <ul>
          {about.map((name) => (
            <li key={name}>
              <b>{name}</b> <Became result={results.get(name)} />
            </li>
          ))}
        </ul>
      </div>
      {already.length > 0 && <p class="quiet">{t("many.already", { names: already.join(", ") })}</p>}
      {!results.size && <Reason value={reason} change={setReason} />}
    </Asking>
  );
}

function Became({ result }: { result: Result | undefined }) {
  if (result === undefined) return <></>;
  if (result === "done") return <span class="well">{t("many.done")}</span>;
  return <span class="why">{result instanceof Away ? t("order.unknown") : t("order.refused", { detail: result.problem.detail })}</span>;
}

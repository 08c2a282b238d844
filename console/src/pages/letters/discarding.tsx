import { useEffect, useState } from "preact/hooks";

import { ask, Away, Refused, type Schemas } from "../../api/client.ts";
import { type Chosen, ordered } from "../../model/letters.ts";
import { Asking, Refusal } from "../../parts/asking.tsx";
import { notice } from "../../parts/notice.tsx";
import { number, t } from "../../words/words.ts";

type Answer = Schemas["deadletter.DiscardDeadLettersResponse"];

/** Asks whether letters are to be given up, and says before how many these are. */
export function Discarding({ path, which, close }: { path: string; which: Chosen; close: (given: boolean) => void }) {
  const [[asked]] = useState([ordered(which)]);
  const [plan, setPlan] = useState<Answer>();
  const [trouble, setTrouble] = useState<Away | Refused>();
  const order = (more: object) => ask<Answer>(`${path}/deadLetters:discard`, { method: "POST", body: { ...asked, ...more } });
  useEffect(() => {
    order({ dryRun: true }).then(setPlan, (error: unknown) => {
      if (!(error instanceof Away || error instanceof Refused)) throw error;
      setTrouble(error);
    });
  }, []);
  const count = Number(plan?.count ?? 0);
  return (
    <Asking
      title={t("discard.title")}
      answer={t("discard.answer")}
      danger
      ready={count > 0}
      close={close}
      give={async () => {
        const done = await order({});
        notice(t("discard.done", { count: number(Number(done.count ?? 0)) }));
      }}
    >
      <p>{t("discard.consequence")}</p>
      {trouble && <Refusal trouble={trouble} />}
      {!plan && !trouble && <p aria-busy="true">{t("app.loading")}</p>}
      {plan && (
        <p role="status">
          {count ? t("discard.count", { count: number(count), topic: plan.topic ?? "" }) : t("discard.nothing")}
        </p>
      )}
    </Asking>
  );
}

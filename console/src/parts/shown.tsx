// Small things that several pages show.
import type { ComponentChildren } from "preact";

import { Away, type Refused } from "../api/client.ts";
import type { Live } from "../api/live.ts";
import type { Lag, State } from "../model/connectors.ts";
import { ago, bytes, moment, number, t } from "../words/words.ts";

export function Badge({ state }: { state: State }) {
  return (
    <span class={`badge ${state.toLowerCase()}`} title={t(`means.${state}`)}>
      {t(`state.${state}`)}
    </span>
  );
}

export function Ago({ time }: { time: string | undefined }) {
  if (!time) return <></>;
  return (
    <time dateTime={time} title={moment(time)}>
      {ago(time)}
    </time>
  );
}

export function lagText(lag: Lag | null): string {
  if (lag === null) return "–";
  if (!lag.amount) return t("lag.none");
  if (lag.unit === "bytes") return bytes(lag.amount);
  if (lag.unit === "messages") return t("lag.messages", { amount: number(lag.amount) });
  return `${number(lag.amount)} ${lag.unit}`.trim();
}

export function rateText(rate: number | null): string {
  return rate === null ? "–" : number(rate);
}

/** What keeps values from being true now, the first trouble of several; or that some are not there yet. */
export function Trouble({ of }: { of: Live<unknown>[] }) {
  const troubled = of.find((each) => each.trouble);
  if (!troubled?.trouble) return of.some((each) => each.value === undefined) ? <p aria-busy="true">{t("app.loading")}</p> : <></>;
  const { since, error } = troubled.trouble;
  const nothing = troubled.value === undefined;
  return (
    <p role="alert" class="alert">
      {error instanceof Away
        ? nothing
          ? t("away.nothing")
          : t("away.gateway", { time: moment(since) })
        : nothing
          ? error.problem.detail
          : t("away.refused", { time: moment(since), detail: ended((error as Refused).problem.detail) })}
    </p>
  );
}

function ended(sentence: string): string {
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
}

/** What is not true now any more is marked. */
export function Old({ of, children }: { of: Live<unknown>[]; children: ComponentChildren }) {
  const old = of.some((each) => each.trouble && each.value !== undefined);
  return (
    <div class={old ? "old" : ""} data-old={old ? t("away.old") : undefined}>
      {children}
    </div>
  );
}

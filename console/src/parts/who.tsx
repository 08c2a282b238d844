// Whom the gateway takes this for, and that its token ends.
import { useEffect, useState } from "preact/hooks";

import { endOf, type Who } from "../model/caller.ts";
import { moment, t } from "../words/words.ts";

const EVERY_MS = 15_000;

function useNow(): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** For the head of the page. */
export function Me({ who }: { who: Who }) {
  const end = endOf(who, useNow());
  return (
    <span class="quiet me">
      <b>{who.name}</b> {t(`role.${who.role}`)}
      {end !== "far" && who.ends !== undefined && `, ${t("session.until", { time: moment(who.ends) })}`}
    </span>
  );
}

/** Above the page, when the end is near. */
export function Ending({ who }: { who: Who }) {
  const end = endOf(who, useNow());
  return (
    <div role="status">
      {end === "soon" && who.ends !== undefined && (
        <p class="alert advice">{t("session.ends", { time: moment(who.ends) })}</p>
      )}
    </div>
  );
}

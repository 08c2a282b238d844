import { useMemo, useState } from "preact/hooks";

import { ask, segment } from "../../api/client.ts";
import { usePolled } from "../../api/live.ts";
import { correctedOf, stageOf, type WholeLetter } from "../../model/letters.ts";
import { href } from "../../model/route.ts";
import { useSession } from "../../model/session.ts";
import { fromBase64, tabulate } from "../../model/values.ts";
import { Masked } from "../../parts/masked.tsx";
import { Ago, Old, Trouble } from "../../parts/shown.tsx";
import { Pairs, Value } from "../../parts/value.tsx";
import { moment, t } from "../../words/words.ts";
import { Edition } from "./edition.tsx";
import { Marks } from "./list.tsx";
import { Replaying } from "./replaying.tsx";

// It changes only when somebody edits or replays it, and can be large.
const EVERY_MS = 15_000;

/** One dead letter with everything that is known of it. */
export function LetterPage({ name, path, id }: { name: string; path: string; id: string }) {
  const own = `${path}/deadLetters/${segment(id)}`;
  const live = usePolled((signal) => ask<WholeLetter>(own, { signal }), EVERY_MS, own);
  return (
    <>
      <p class="back">
        <a href={href(["connectors", name, "letters"])}>← {t("letters.back")}</a>
      </p>
      <h2>{t("letter.title", { id })}</h2>
      <Trouble of={[live]} />
      {live.value && (
        <Old of={[live]}>
          <Whole name={name} path={path} id={id} whole={live.value} again={live.again} />
        </Old>
      )}
    </>
  );
}

interface Shown {
  name: string;
  path: string;
  id: string;
  whole: WholeLetter;
  again: () => void;
}

function Whole({ name, path, id, whole, again }: Shown) {
  const session = useSession();
  const [asked, setAsked] = useState<"edit" | "replay">();
  const letter = whole.deadLetter ?? {};
  const isMasked = (whole.masked?.length ?? 0) > 0;
  const body = useMemo(() => fromBase64(whole.body ?? ""), [whole.body]);
  const before = useMemo(() => fromBase64(whole.originalBody ?? ""), [whole.originalBody]);
  const table = useMemo(() => tabulate((whole.packed?.rows ?? []).map((each) => each.value ?? "null")), [whole.packed]);
  const facts: Record<string, string> = {
    [t("column.failedAt")]: t(`stage.${stageOf(letter)}`),
    ...((letter.task ?? -1) >= 0 && { [t("column.task")]: String(letter.task) }),
    [t("column.origin")]: letter.origin || "–",
    [t("letter.key")]: letter.key || "–",
    ...(letter.tags && { [t("letter.tags")]: letter.tags }),
    [t("letter.stored")]: letter.storeTime ? moment(letter.storeTime) : "–",
    ...(letter.replays && { [t("letter.replays")]: String(letter.replays) }),
    ...(letter.replayedTime && { [t("mark.replayed")]: `${moment(letter.replayedTime)} → ${letter.replayedTo}` }),
    ...(letter.discardedTime && { [t("mark.discarded")]: moment(letter.discardedTime) }),
    ...(letter.cameBackFrom && { [t("mark.returned")]: letter.cameBackFrom }),
    ...(letter.copyOf && { [t("mark.copy")]: letter.copyOf }),
  };
  return (
    <>
      <Marks letter={letter} />
      <Masked of={whole.masked} />
      <section class="alert" aria-label={t("column.why")}>
        <p class="lines">
          {letter.error && <b>{letter.error}: </b>}
          {letter.message || t("letters.noReason")}
        </p>
      </section>
      <section class="orders" aria-label={t("letters.orders")}>
        {(["edit", "replay"] as const).map((each) => (
          <button
            key={each}
            type="button"
            class="outline"
            disabled={session.readOnly !== undefined || (each === "edit" && (asked === "edit" || isMasked))}
            title={session.readOnly ?? (each === "edit" && isMasked ? t("masked.edit") : undefined)}
            onClick={() => setAsked(each)}
          >
            {t(`letter.${each}`)}
          </button>
        ))}
        <span class="quiet">
          <Ago time={letter.storeTime} />
        </span>
      </section>
      {session.readOnly !== undefined && <p class="quiet">{t("connector.readOnly", { why: session.readOnly })}</p>}
      {asked === "edit" && (
        <Edition
          path={`${path}/deadLetters/${segment(id)}`}
          whole={whole}
          body={body}
          close={() => {
            setAsked(undefined);
            again();
          }}
        />
      )}
      {asked === "replay" && (
        <Replaying name={name} path={path} which={{ ids: [id], filter: {} }} close={() => (setAsked(undefined), again())} />
      )}
      <h3>{t(correctedOf(whole) === "record" ? "letter.unread" : "letter.value")}</h3>
      {letter.cut && <p class="quiet">{t("letter.cut")}</p>}
      {whole.packed?.problem && <p class="alert">{whole.packed.problem}</p>}
      {table && <p class="quiet">{t("letter.rows", { shown: table.rows.length, count: whole.packed?.count ?? 0 })}</p>}
      <Value bytes={body} table={table} label={t("letter.value")} />
      {whole.originalBody && (
        <details>
          <summary>{t("letter.original")}</summary>
          <Value bytes={before} label={t("letter.original")} />
        </details>
      )}
      <Pairs of={facts} label={t("letter.facts")} />
      {Object.keys(whole.properties ?? {}).length > 0 && <h3>{t("letter.properties")}</h3>}
      <Pairs of={whole.properties ?? {}} label={t("letter.properties")} />
      {whole.trace && (
        <details>
          <summary>{t("letter.trace")}</summary>
          <pre tabIndex={0}>{whole.trace}</pre>
        </details>
      )}
      <details>
        <summary>{t("letter.notes")}</summary>
        <Pairs of={whole.notes ?? {}} label={t("letter.notes")} />
      </details>
    </>
  );
}

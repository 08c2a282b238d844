import { useState } from "preact/hooks";

import { ask, Refused, type Schemas } from "../../api/client.ts";
import { usePolled } from "../../api/live.ts";
import { filterOf, type Letter, marksOf, STAGES, stageOf } from "../../model/letters.ts";
import { go, href } from "../../model/route.ts";
import { useSession } from "../../model/session.ts";
import { Choice } from "../../parts/choice.tsx";
import { Ago, Old, Trouble } from "../../parts/shown.tsx";
import { Table } from "../../parts/table.tsx";
import { bytes, number, t } from "../../words/words.ts";
import { Discarding } from "./discarding.tsx";
import { Replaying } from "./replaying.tsx";

const EVERY_MS = 5000;
const COUNT_MS = 15_000;
const PAGE = "100";
/** A page may be empty and still not be the last: so many are passed by in one go. */
const MOST_EMPTY = 20;
const HOURS = ["1", "24", "72"] as const;

interface Given {
  name: string;
  path: string;
  query: URLSearchParams;
}

async function load(path: string, filter: Record<string, string>, token: string, signal: AbortSignal) {
  let next = token;
  for (let empty = 0; ; empty += 1) {
    const asked = new URLSearchParams({ pageSize: PAGE, ...filter, ...(next && { pageToken: next }) });
    const found = await ask<Schemas["deadletter.ListDeadLettersResponse"]>(`${path}/deadLetters?${asked}`, { signal });
    next = found.nextPageToken ?? "";
    if (found.deadLetters?.length || !next || empty === MOST_EMPTY) return { letters: found.deadLetters ?? [], next };
  }
}

export function List({ name, path, query }: Given) {
  const [tokens, setTokens] = useState([""]);
  const token = tokens.at(-1) ?? "";
  const live = usePolled(
    (signal) => load(path, filterOf(query, Date.now()), token, signal),
    EVERY_MS,
    `${path} ${query} ${token}`,
  );
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const found = live.value?.letters ?? [];
  const error = live.trouble?.error;
  if (error instanceof Refused && error.problem.reason === "NO_DEAD_LETTER_TOPIC") return <p>{error.problem.detail}</p>;
  return (
    <>
      <Waiting path={path} />
      <Filters name={name} query={query} letters={found} />
      <Trouble of={[live]} />
      {live.value && (
        <Old of={[live]}>
          <Orders
            name={name}
            path={path}
            query={query}
            chosen={chosen}
            any={found.length > 0}
            done={() => (setChosen(new Set()), live.again())}
          />
          {found.length ? (
            <Listed name={name} letters={found} chosen={chosen} choose={setChosen} />
          ) : (
            <p>{t(query.size ? "letters.noneFound" : "letters.none")}</p>
          )}
          <p class="answers">
            {tokens.length > 1 && (
              <button type="button" class="outline small" onClick={() => setTokens(tokens.slice(0, -1))}>
                {t("letters.before")}
              </button>
            )}
            {live.value.next && (
              <button type="button" class="outline small" onClick={() => setTokens([...tokens, live.value?.next ?? ""])}>
                {t("letters.after")}
              </button>
            )}
          </p>
        </Old>
      )}
    </>
  );
}

function Waiting({ path }: { path: string }) {
  const live = usePolled(
    (signal) => ask<Schemas["deadletter.CountDeadLettersResponse"]>(`${path}/deadLetters:count`, { signal }),
    COUNT_MS,
    path,
  );
  const count = live.value;
  // Its place is kept, so that nothing moves when it is known.
  if (!count) return live.trouble ? <></> : <p aria-busy="true">{t("app.loading")}</p>;
  const waiting = Number(count.unreplayed ?? 0);
  return (
    <p class={waiting ? "waiting" : ""} role="status">
      {t(count.complete ? "letters.waiting" : "letters.waitingAtLeast", { count: number(waiting), topic: count.topic ?? "" })}{" "}
      {count.oldestTime && (
        <>
          {t("letters.oldest")}: <Ago time={count.oldestTime} />
        </>
      )}
    </p>
  );
}

function Filters({ name, query, letters }: { name: string; query: URLSearchParams; letters: Letter[] }) {
  const given = { hours: query.get("hours") ?? "", stage: query.get("stage") ?? "", error: query.get("error") ?? "" };
  const choose = (next: Record<string, string>) => go(href(["connectors", name, "letters"], { ...given, ...next }), true);
  const errors = [...new Set([...letters.map((each) => each.error ?? ""), given.error])].filter(Boolean).sort();
  return (
    <search class="filters thirds">
      <Choice
        label={t("letters.since")}
        value={given.hours}
        of={[["", t("pipelines.all")], ...HOURS.map((each) => [each, t("letters.hours", { hours: each })] as const)]}
        choose={(hours) => choose({ hours })}
      />
      <Choice
        label={t("letters.stage")}
        value={given.stage}
        of={[
          ["", t("pipelines.all")],
          ...STAGES.filter((each) => each !== "UNSPECIFIED").map((each) => [each, t(`stage.${each}`)] as const),
        ]}
        choose={(stage) => choose({ stage })}
      />
      <Choice
        label={t("letters.error")}
        value={given.error}
        of={[["", t("pipelines.all")], ...errors.map((each) => [each, each] as const)]}
        choose={(error) => choose({ error })}
      />
    </search>
  );
}

interface Ordering extends Given {
  chosen: ReadonlySet<string>;
  any: boolean;
  done: () => void;
}

function Orders({ name, path, query, chosen, any, done }: Ordering) {
  const session = useSession();
  const [asked, setAsked] = useState<"replay" | "discard">();
  const which = { ids: [...chosen], filter: filterOf(query, Date.now()) };
  const close = (given: boolean) => {
    setAsked(undefined);
    if (given) done();
  };
  return (
    <>
      <section class="orders" aria-label={t("letters.orders")}>
        {(["replay", "discard"] as const).map((each) => (
          <button
            key={each}
            type="button"
            class="outline"
            disabled={!any || session.readOnly !== undefined}
            title={session.readOnly}
            onClick={() => setAsked(each)}
          >
            {chosen.size
              ? t(`letters.${each}.chosen`, { count: chosen.size })
              : t(query.size ? `letters.${each}.found` : `letters.${each}.all`)}
          </button>
        ))}
      </section>
      {session.readOnly !== undefined && <p class="quiet">{t("connector.readOnly", { why: session.readOnly })}</p>}
      {asked === "replay" && <Replaying name={name} path={path} which={which} close={close} />}
      {asked === "discard" && <Discarding path={path} which={which} close={close} />}
    </>
  );
}

interface Lines {
  name: string;
  letters: Letter[];
  chosen: ReadonlySet<string>;
  choose: (ids: ReadonlySet<string>) => void;
}

function Listed({ name, letters, chosen, choose }: Lines) {
  const ids = letters.map((each) => each.id ?? "");
  const all = ids.every((each) => chosen.has(each));
  const set = (some: string[], on: boolean) =>
    choose(new Set(on ? [...chosen, ...some] : [...chosen].filter((each) => !some.includes(each))));
  return (
    <Table
      kind="letters"
      columns={["column.letter", "column.failedAt", "column.why", "column.origin", "column.size"]}
      numbers={["column.size"]}
      first={
        <input
          type="checkbox"
          aria-label={t("letters.chooseAll")}
          checked={all}
          onChange={(event) => set(ids, event.currentTarget.checked)}
        />
      }
    >
      {letters.map((each) => (
        <tr key={each.id}>
          <td data-label={t("letters.choose")}>
            <input
              type="checkbox"
              aria-label={t("letters.chooseOne", { id: each.id ?? "" })}
              checked={chosen.has(each.id ?? "")}
              onChange={(event) => set([each.id ?? ""], event.currentTarget.checked)}
            />
          </td>
          <td data-label={t("column.letter")}>
            <a href={href(["connectors", name, "letters", each.id ?? ""])}>{each.id}</a>
            <div class="quiet">
              <Ago time={each.storeTime} />
            </div>
            <Marks letter={each} />
          </td>
          <td data-label={t("column.failedAt")}>
            {t(`stage.${stageOf(each)}`)}
            {(each.task ?? -1) >= 0 && <div class="quiet">{t("letters.task", { task: each.task ?? 0 })}</div>}
          </td>
          <td data-label={t("column.why")}>
            <p class="why">
              {each.error && <b>{each.error}: </b>}
              {each.message || t("letters.noReason")}
            </p>
          </td>
          <td data-label={t("column.origin")}>
            <code>{each.origin || "–"}</code>
            {each.key && <div class="quiet">{t("letters.key", { key: each.key })}</div>}
          </td>
          <td class="number" data-label={t("column.size")}>
            {bytes(Number(each.size ?? 0))}
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** What was done with it. */
export function Marks({ letter }: { letter: Letter }) {
  const marks = marksOf(letter);
  if (!marks.length) return <></>;
  const about = { copy: letter.copyOf ?? "", returned: letter.cameBackFrom ?? "", replayed: letter.replayedTo ?? "" };
  return (
    <div class="marks">
      {marks.map((each) => (
        <span key={each} class="badge" title={each in about ? about[each as keyof typeof about] : undefined}>
          {t(`mark.${each}`)}
        </span>
      ))}
    </div>
  );
}

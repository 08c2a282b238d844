// Messages of a topic, as converters read them. A process is started for each look.
import { useEffect, useRef, useState } from "preact/hooks";

import { ask, askAll, Away, Refused, type Schemas, segment } from "../../api/client.ts";
import { usePolled } from "../../api/live.ts";
import type { Connector } from "../../model/connectors.ts";
import { go, href } from "../../model/route.ts";
import { optionsOf, type Peeked, readingOf, type Start, startOf, STARTS, withMore } from "../../model/topics.ts";
import { Refusal } from "../../parts/asking.tsx";
import { Choice } from "../../parts/choice.tsx";
import { Masked } from "../../parts/masked.tsx";
import { t } from "../../words/words.ts";
import { Records } from "./records.tsx";
import { Saved } from "./saved.tsx";

const AMOUNTS = ["10", "30", "100"] as const;
const PLUGINS_MS = 60_000;
const FOLLOW_MS = 2000;
/** Messages that are kept while it follows. */
const MOST = 300;
const EXAMPLE = "value.converter.schemas.enable=false";

interface Given {
  topic: string;
  connectors: Connector[];
  query: URLSearchParams;
}

export function Messages({ topic, connectors, query }: Given) {
  const [found, setFound] = useState<Peeked>();
  const [trouble, setTrouble] = useState<Away | Refused>();
  const [busy, setBusy] = useState(false);
  const [following, setFollowing] = useState(false);
  const [looks, setLooks] = useState(0);
  /** A kept filter comes with the next address. */
  const chosen = useRef(false);
  const [options, setOptions] = useState("");
  const newest = useRef(0);
  const given = {
    start: (STARTS.find((each) => each === query.get("start")) ?? "last") as Start,
    at: query.get("at") ?? "",
    queue: query.get("queue") ?? "",
    amount: query.get("amount") ?? AMOUNTS[0],
    as: query.get("as") ?? "",
    find: query.get("find") ?? "",
  };
  const converters =
    usePolled((signal) => askAll<Schemas["connector.Plugin"]>("v1/plugins", "plugins", signal), PLUGINS_MS, "plugins").value ??
    [];
  const names = converters.filter((each) => each.type === "PLUGIN_TYPE_CONVERTER").map((each) => each.name ?? "");
  const choose = (next: Partial<typeof given>) => go(href(["topics", topic], { ...given, ...next }), true);
  const more = optionsOf(options);
  const reads = connectors.filter((each) => each.name && Object.keys(readingOf(each.config ?? {})).length);
  const known = !given.as || given.as.startsWith("=") || names.includes(given.as);
  const config = async () => {
    const added = typeof more === "string" ? {} : more;
    if (!given.as.startsWith("=")) return { ...(given.as && { "value.converter": given.as }), ...added };
    const { connector } = await ask<Schemas["config.GetConnectorResponse"]>(`v1/connectors/${segment(given.as.slice(1))}`);
    return { ...readingOf(connector?.config ?? {}), ...added };
  };
  // Of looks that overlap only the newest is shown: what two of them add would be there twice.
  const look = async (places?: Peeked["next"], adds = false) => {
    const mine = ++newest.current;
    setBusy(!adds);
    setTrouble(undefined);
    const begin = places ? { places } : startOf(given.start, given.at);
    try {
      const body = { messages: Number(given.amount), queue: given.queue.trim(), config: await config(), ...begin };
      const answer = await ask<Peeked>(`v1/topics/${segment(topic)}:peek`, { method: "POST", body });
      if (mine !== newest.current) return;
      setFound((before) => (adds && before ? withMore(before, answer, MOST) : answer));
    } catch (error) {
      if (!(error instanceof Away || error instanceof Refused)) throw error;
      if (mine !== newest.current) return;
      setTrouble(error);
      setFollowing(false);
    } finally {
      if (mine === newest.current) {
        setBusy(false);
        setLooks((before) => before + 1);
      }
    }
  };
  useEffect(() => void look(), []);
  useEffect(() => {
    if (!chosen.current) return;
    chosen.current = false;
    void look();
  }, [query]);
  const goesOn = Object.keys(found?.next?.offsets ?? {}).length > 0;
  useEffect(() => {
    if (!following || !goesOn) return;
    let asked = false;
    const again = () => {
      if (asked || document.hidden) return;
      asked = true;
      void look(found?.next, true);
    };
    const timer = setTimeout(again, FOLLOW_MS);
    document.addEventListener("visibilitychange", again);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", again);
    };
  }, [following, looks]);
  return (
    <>
      <h2>{t("messages.title")}</h2>
      <Saved topic={topic} given={given} chooses={() => (chosen.current = true)} />
      <form
        class="messages"
        onSubmit={(event) => {
          event.preventDefault();
          void look();
        }}
      >
        <Choice
          label={t("messages.start")}
          value={given.start}
          of={STARTS.map((each) => [each, t(`start.${each}`)])}
          choose={(start) => choose({ start, at: "" })}
        />
        {given.start === "offset" && (
          <label>
            {t("column.offset")}
            <input
              required
              inputMode="numeric"
              pattern="\d+"
              value={given.at}
              onInput={(event) => choose({ at: event.currentTarget.value })}
            />
          </label>
        )}
        {given.start === "since" && (
          <label>
            {t("column.time")}
            <input
              required
              type="datetime-local"
              step="1"
              value={given.at}
              onInput={(event) => choose({ at: event.currentTarget.value })}
            />
          </label>
        )}
        {given.start === "key" && (
          <label>
            {t("column.key")}
            <input
              required
              autoComplete="off"
              spellcheck={false}
              value={given.at}
              onInput={(event) => choose({ at: event.currentTarget.value })}
            />
          </label>
        )}
        <label>
          {t("messages.queue")}
          <input
            autoComplete="off"
            placeholder={t("pipelines.all")}
            value={given.queue}
            onInput={(event) => choose({ queue: event.currentTarget.value })}
          />
        </label>
        <Choice
          label={t("messages.amount")}
          value={given.amount}
          of={AMOUNTS.map((each) => [each, each])}
          choose={(amount) => choose({ amount })}
        />
        <Choice
          label={t("messages.as")}
          value={given.as}
          of={[
            ["", t("messages.asTheyAre")],
            ...reads.map((each) => [`=${each.name}`, t("messages.asConnector", { name: each.name ?? "" })] as const),
            ...(known ? [] : [[given.as, t("messages.asConverter", { name: given.as })] as const]),
            ...names.map((each) => [each, t("messages.asConverter", { name: each })] as const),
          ]}
          choose={(as) => choose({ as })}
        />
        <button type="submit" class="outline" disabled={busy || typeof more === "string"} aria-busy={busy}>
          {t("messages.show")}
        </button>
      </form>
      <details>
        <summary>{t("messages.options")}</summary>
        <textarea
          aria-label={t("messages.options")}
          rows={3}
          spellcheck={false}
          placeholder={EXAMPLE}
          value={options}
          aria-invalid={typeof more === "string" ? "true" : undefined}
          onInput={(event) => setOptions(event.currentTarget.value)}
        />
        {typeof more === "string" && <p class="why">{t("messages.noOption", { line: more })}</p>}
      </details>
      {trouble && <Refusal trouble={trouble} />}
      {goesOn && (
        <p class="answers">
          <button type="button" class="outline" aria-pressed={following} onClick={() => setFollowing(!following)}>
            {t(following ? "messages.stop" : "messages.follow")}
          </button>
        </p>
      )}
      {found && (
        <Told
          found={found}
          converted={given.as !== ""}
          newestFirst={following}
          find={given.find}
          setFind={(find) => choose({ find })}
        />
      )}
      {goesOn && !following && (found?.records?.length ?? 0) > 0 && (
        <p class="answers">
          <button type="button" class="outline" disabled={busy} onClick={() => void look(found?.next)}>
            {t("messages.next")}
          </button>
        </p>
      )}
    </>
  );
}

interface ToldOf {
  found: Peeked;
  converted: boolean;
  newestFirst: boolean;
  /** What is looked for in the keys of those that are shown. */
  find: string;
  setFind: (find: string) => void;
}

function Told({ found, converted, newestFirst, find, setFind }: ToldOf) {
  const records = newestFirst ? [...(found.records ?? [])].reverse() : (found.records ?? []);
  return (
    <>
      {found.problems?.map((each) => (
        <p key={each.key} class="alert">
          <b>{each.key}</b>: {each.reason} {each.fix}
        </p>
      ))}
      {found.trouble && <p class="alert lines">{found.trouble}</p>}
      <Masked of={found.masked} />
      {records.length ? (
        <Records records={records} converted={converted} find={find} setFind={setFind} />
      ) : (
        !found.problems?.length && !found.trouble && <p role="status">{t("messages.none")}</p>
      )}
    </>
  );
}

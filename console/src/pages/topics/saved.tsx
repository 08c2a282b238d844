// Filters of messages that somebody has given a name: this browser keeps them, and their addresses can be sent to others.
import { useEffect, useState } from "preact/hooks";

import { type Filter, filtersOf, LONGEST_NAME, MOST_OF_TOPIC, queryOf, readFilters, withFilter, withoutFilter } from "../../model/filters.ts";
import { go, href } from "../../model/route.ts";
import { Copy } from "../../parts/copy.tsx";
import { t } from "../../words/words.ts";

const KEPT = "rocketconnect.filters";

interface SavedOf {
  topic: string;
  /** That of now, as it stands in the address. */
  given: Record<string, string>;
  /** One comes with the next address. */
  chooses: () => void;
}

export function Saved({ topic, given, chooses }: SavedOf) {
  const [all, setAll] = useState(() => readFilters(localStorage.getItem(KEPT)));
  const [name, setName] = useState("");
  const [full, setFull] = useState(false);
  useEffect(() => {
    // Another tab has changed them.
    const look = (event: StorageEvent) => event.key === KEPT && setAll(readFilters(event.newValue));
    addEventListener("storage", look);
    return () => removeEventListener("storage", look);
  }, []);
  const change = (next: (before: Filter[]) => Filter[] | null): boolean => {
    const made = next(readFilters(localStorage.getItem(KEPT)));
    setFull(made === null);
    if (made === null) return false;
    try {
      localStorage.setItem(KEPT, JSON.stringify(made));
    } catch {
      setFull(true);
      return false;
    }
    setAll(made);
    return true;
  };
  const query = queryOf(given);
  const address = href(["topics", topic], query);
  const save = () => {
    const called = name.trim();
    if (called && change((before) => withFilter(before, { topic, name: called, query }))) setName("");
  };
  return (
    <section aria-label={t("filters.title")} class="saved">
      {filtersOf(all, topic).map((each) => {
        const its = href(["topics", topic], each.query);
        return (
          <span key={each.name} class="together">
            <a
              href={its}
              aria-current={its === address ? "true" : undefined}
              onClick={(event) => {
                event.preventDefault();
                chooses();
                go(its, true);
              }}
            >
              {each.name}
            </a>
            <button
              type="button"
              class="outline secondary small"
              aria-label={t("filters.removeName", { name: each.name })}
              onClick={() => change((before) => withoutFilter(before, topic, each.name))}
            >
              {t("form.remove")}
            </button>
          </span>
        );
      })}
      <form
        class="together"
        onSubmit={(event) => {
          event.preventDefault();
          save();
        }}
      >
        <input
          class="small"
          aria-label={t("filters.name")}
          placeholder={t("filters.name")}
          autoComplete="off"
          maxLength={LONGEST_NAME}
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
        <button type="submit" class="outline secondary small" disabled={!name.trim()}>
          {t("filters.save")}
        </button>
        <Copy text={location.href.split("#")[0] + address} word="filters.copy" />
      </form>
      {full && (
        <p role="alert" class="why">
          {t("filters.full", { most: MOST_OF_TOPIC })}
        </p>
      )}
    </section>
  );
}

// The form of a configuration: what is needed first, all else by whose it is, and the same as text beside it.
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";

import { askAll, type Schemas } from "../../api/client.ts";
import { usePolled } from "../../api/live.ts";
import {
  CLASS,
  type Config,
  CONNECTORS,
  type Field,
  fits,
  isFirst,
  otherKeys,
  type Plugin,
  pluginOf,
  type Section,
  valueOf,
  withValue,
} from "../../model/form.ts";
import { type Placed, sentence, type Told } from "../../model/problems.ts";
import { number, t } from "../../words/words.ts";
import { Beside } from "./beside.tsx";
import type { Check } from "./check.ts";
import { type Draft, isBroken } from "./draft.ts";
import { Entry, idOf, Said, SECRETS, Text } from "./field.tsx";

const SECRETS_MS = 60_000;

export interface Edited {
  draft: Draft;
  change: (part: Partial<Draft>) => void;
  /** What was there at first: its options stand at the beginning. */
  first: Config;
  plugins: readonly Plugin[];
  sections: readonly Section[];
  problems: Placed;
  warnings: Placed;
  check: Check;
  /** Enter and the button. */
  save: () => void;
  /** Above the options, and below them. */
  head?: ComponentChildren;
  children: ComponentChildren;
}

export function Editor(edited: Edited) {
  const { draft, change, first, plugins, sections, problems, warnings, check, save, head, children } = edited;
  const [search, setSearch] = useState("");
  const plugin = pluginOf(plugins, CONNECTORS, draft.config[CLASS] ?? "");
  const set = (config: Config) => change({ config, typed: null });
  const entry = (field: Field) => (
    <Entry
      key={field.key}
      field={field}
      value={valueOf(draft.config, field)}
      problems={problems.at.get(field.key) ?? []}
      warnings={warnings.at.get(field.key) ?? []}
      change={(value) => set(withValue(draft.config, field, value))}
    />
  );
  const found = (fields: Field[]) => (search.trim() ? fields.filter((each) => fits(each, search.trim())) : fields);
  const needed = sections.flatMap((each) => each.fields).filter((each) => isFirst(each, first));
  const others = otherKeys(draft.config, sections);
  return (
    <div class="editor">
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          save();
        }}
      >
        {plugin && (
          <p>
            <b>{plugin.name}</b> <span lang="en">{plugin.summary}</span>
          </p>
        )}
        {plugin?.documentation && (
          <details>
            <summary>{t("form.more")}</summary>
            <p lang="en" class="documentation">
              {plugin.documentation}
            </p>
          </details>
        )}
        <Standing check={check} problems={problems.others} warnings={warnings.others} count={check.problems.length} />
        {/* Text that is no configuration yet is not written over. */}
        <fieldset disabled={isBroken(draft)}>
          {head}
          <label>
            {t("form.search")}
            <input
              type="search"
              value={search}
              onInput={(event) => setSearch(event.currentTarget.value)}
              onKeyDown={(event) => event.key === "Enter" && event.preventDefault()}
            />
          </label>
          {found(needed).map(entry)}
          {sections.map((section) => {
            const rest = found(section.fields.filter((each) => !isFirst(each, first)));
            const given = rest.filter((each) => valueOf(draft.config, each)).length;
            const wrong = rest.filter((each) => problems.at.has(each.key)).length;
            if (!rest.length) return <></>;
            return (
              <details key={section.id} open={search.trim() !== "" || wrong > 0 || undefined}>
                <summary>
                  {titleOf(section)}{" "}
                  <span class="quiet">
                    {number(rest.length)}
                    {given > 0 && ` · ${t("form.given", { given: number(given) })}`}
                  </span>
                  {wrong > 0 && <span class="why"> {t("form.problems", { count: number(wrong) })}</span>}
                </summary>
                {rest.map(entry)}
              </details>
            );
          })}
          <Others keys={others} config={draft.config} problems={problems} warnings={warnings} set={set} />
        </fieldset>
        {children}
      </form>
      <Beside draft={draft} change={change} />
      <Secrets />
    </div>
  );
}

function titleOf(section: Section): string {
  const { whose, plugin, id } = section;
  if (whose !== "used") return t(`form.section.${whose}`, { plugin });
  const prefix = id.replace(/\.$/, "");
  return plugin ? t("form.section.used", { plugin, prefix }) : t("form.section.step", { prefix });
}

/** What is to be said of the whole, and how far the check of it is. */
function Standing({
  check,
  problems,
  warnings,
  count,
}: {
  check: Check;
  problems: Told[];
  warnings: Told[];
  count: number;
}) {
  return (
    <section aria-label={t("form.standing")}>
      {problems.length > 0 && (
        <div role="alert" class="alert">
          <Whole problems={problems} />
        </div>
      )}
      {warnings.length > 0 && (
        <div class="alert advice">
          <Whole problems={warnings} />
        </div>
      )}
      {check.notes.map((each) => (
        <p key={each} class="quiet" lang="en">
          {each}.
        </p>
      ))}
      <p role="status" class="quiet">
        {check.trouble
          ? t("form.unchecked", { detail: "problem" in check.trouble ? check.trouble.problem.detail : t("away.nothing") })
          : check.pending
            ? t("form.checking")
            : count
              ? t("form.problems", { count: number(count) })
              : t("form.noProblems")}
      </p>
    </section>
  );
}

function Whole({ problems }: { problems: Told[] }) {
  return (
    <ul>
      {problems.map((each) => (
        <li key={`${each.key} ${each.reason}`}>
          {each.key && <code>{each.key}</code>} {sentence(each)}
        </li>
      ))}
    </ul>
  );
}

interface OthersOf {
  keys: string[];
  config: Config;
  problems: Placed;
  warnings: Placed;
  set: (config: Config) => void;
}

/** What no field has: it can be changed, taken out, and added. */
function Others({ keys, config, problems, warnings, set }: OthersOf) {
  const [added, setAdded] = useState("");
  const add = () => {
    const key = added.trim();
    if (!key || Object.hasOwn(config, key)) return;
    set({ ...config, [key]: "" });
    setAdded("");
  };
  return (
    <details open={keys.length > 0 || undefined}>
      <summary>
        {t("form.section.others")} <span class="quiet">{number(keys.length)}</span>
      </summary>
      {keys.map((key) => (
        <div class="field" key={key}>
          <label for={idOf(key)}>
            <code>{key}</code>
          </label>
          <div class="together">
            <Text
              id={idOf(key)}
              placeholder=""
              value={config[key] ?? ""}
              change={(value) => set({ ...config, [key]: value })}
              aria-describedby={`${idOf(key)}-said`}
              aria-invalid={problems.at.has(key) ? "true" : undefined}
            />
            <button
              type="button"
              class="outline secondary small"
              aria-label={t("form.removeKey", { key })}
              onClick={() => set(Object.fromEntries(Object.entries(config).filter(([each]) => each !== key)))}
            >
              {t("form.remove")}
            </button>
          </div>
          <div id={`${idOf(key)}-said`}>
            <Said problems={problems.at.get(key) ?? []} wrong />
            <Said problems={warnings.at.get(key) ?? []} wrong={false} warned />
          </div>
        </div>
      ))}
      <label>
        {t("form.newKey")}
        <span class="together">
          <input
            autoComplete="off"
            value={added}
            onInput={(event) => setAdded(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== "Enter") return;
              event.preventDefault();
              add();
            }}
          />
          <button type="button" class="outline secondary small" onClick={add}>
            {t("form.add")}
          </button>
        </span>
      </label>
    </details>
  );
}

/** The names of the secrets that the keystore has, where it tells them, as they are referred to. */
function Secrets() {
  const known = usePolled(
    (signal) => askAll<Schemas["keystore.Secret"]>("v1/secrets", "secrets", signal),
    SECRETS_MS,
    "secrets",
  );
  const names = useMemo(() => (known.value ?? []).map((each) => each.name ?? ""), [known.value]);
  return (
    <datalist id={SECRETS}>
      {names.map((each) => (
        <option key={each} value={`\${keystore:${each}}`} />
      ))}
    </datalist>
  );
}

/** Shows what is wrong first to who wants to go on all the same. */
export function showFirstProblem(): void {
  const inputs = document.querySelectorAll<HTMLInputElement>("[aria-invalid], [aria-required]");
  const first = [...inputs].find((each) => each.ariaInvalid === "true" || !each.value);
  const folded = first?.closest("details");
  if (folded) folded.open = true;
  first?.focus();
}

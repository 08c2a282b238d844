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
import type { Placed } from "../../model/problems.ts";
import { Folded } from "../../parts/folded.tsx";
import { number, t } from "../../words/words.ts";
import { Beside } from "./beside.tsx";
import type { Check } from "./check.ts";
import { type Draft, isBroken } from "./draft.ts";
import { Entry, SECRETS } from "./field.tsx";
import { Others } from "./others.tsx";
import { Standing } from "./standing.tsx";

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
        <Standing check={check} problems={problems.others} warnings={warnings.others} />
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
            const title = (
              <>
                {titleOf(section)}{" "}
                <span class="quiet">
                  {number(rest.length)}
                  {given > 0 && ` · ${t("form.given", { given: number(given) })}`}
                </span>
                {wrong > 0 && <span class="why"> {t("form.problems", { count: number(wrong) })}</span>}
              </>
            );
            return (
              <Folded key={section.id} title={title} searched={search.trim() !== ""} needed={wrong > 0}>
                {rest.map(entry)}
              </Folded>
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

// The options of a configuration that its form has no field for.
import { useState } from "preact/hooks";

import type { Config } from "../../model/form.ts";
import type { Placed } from "../../model/problems.ts";
import { Folded } from "../../parts/folded.tsx";
import { number, t } from "../../words/words.ts";
import { idOf, Said, Text } from "./field.tsx";

interface OthersOf {
  keys: string[];
  config: Config;
  problems: Placed;
  warnings: Placed;
  set: (config: Config) => void;
}

/** What no field has: it can be changed, taken out, and added. */
export function Others({ keys, config, problems, warnings, set }: OthersOf) {
  const [added, setAdded] = useState("");
  const add = () => {
    const key = added.trim();
    if (!key || Object.hasOwn(config, key)) return;
    set({ ...config, [key]: "" });
    setAdded("");
  };
  return (
    <Folded
      title={
        <>
          {t("form.section.others")} <span class="quiet">{number(keys.length)}</span>
        </>
      }
      searched={false}
      needed={keys.length > 0}
    >
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
    </Folded>
  );
}

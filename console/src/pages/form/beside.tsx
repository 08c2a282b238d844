// The configuration as text beside the form: JSON, which can be edited, and the file that `rocketconnect apply` takes.
import { asJson, asYaml, readJson } from "../../model/documents.ts";
import { Copy } from "../../parts/copy.tsx";
import { t } from "../../words/words.ts";
import type { Draft } from "./draft.ts";

export function Beside({ draft, change }: { draft: Draft; change: (part: Partial<Draft>) => void }) {
  const json = draft.typed ?? asJson(draft.config);
  const read = draft.typed === null ? undefined : readJson(draft.typed);
  const wrong = read && "wrong" in read ? read : undefined;
  const yaml = asYaml(draft.name || "NAME", draft.config);
  return (
    <aside class="beside" aria-label={t("form.texts")}>
      <div class="above">
        <label for="as-json">{t("form.json")}</label> <Copy text={json} />
      </div>
      <textarea
        id="as-json"
        class="code"
        spellcheck={false}
        rows={Math.min(24, Math.max(6, json.split("\n").length))}
        value={json}
        aria-invalid={wrong ? "true" : undefined}
        aria-describedby="as-json-said"
        onInput={(event) => {
          const typed = event.currentTarget.value;
          const now = readJson(typed);
          if ("wrong" in now) change({ typed });
          else change({ typed, config: now.config, ...(now.name !== undefined && !draft.base && { name: now.name }) });
        }}
        // What is right is written as all else is; what is not stays until it is mended, or dropped.
        onBlur={() => !wrong && draft.typed !== null && change({ typed: null })}
      />
      <div id="as-json-said" role={wrong ? "alert" : undefined}>
        {wrong && (
          <p class="why">
            {t(`form.wrong.${wrong.wrong}`, { at: wrong.at })}{" "}
            <button type="button" class="outline secondary small" onClick={() => change({ typed: null })}>
              {t("form.dropText")}
            </button>
          </p>
        )}
      </div>
      <div class="above">
        <span id="as-yaml-name">{t("form.yaml")}</span> <Copy text={yaml} />
      </div>
      <pre tabIndex={0} aria-labelledby="as-yaml-name">
        {yaml}
      </pre>
    </aside>
  );
}

// A new connector of one system.
import { useRef, useState } from "preact/hooks";

import { ask, Away, Refused, type Schemas } from "../../api/client.ts";
import { WANTED } from "../../model/connectors.ts";
import { CLASS } from "../../model/form.ts";
import { go, href } from "../../model/route.ts";
import { signedOut } from "../../model/session.ts";
import { Reason, Refusal } from "../../parts/asking.tsx";
import { Choice } from "../../parts/choice.tsx";
import { notice } from "../../parts/notice.tsx";
import { Trouble } from "../../parts/shown.tsx";
import { t } from "../../words/words.ts";
import { usePlugins } from "./choose.tsx";
import { newDraft, useDraft } from "./draft.ts";
import { useEditing } from "./editing.ts";
import { Editor, showFirstProblem } from "./editor.tsx";
import { Said } from "./field.tsx";
import { Preview } from "./preview.tsx";
import { Restored } from "./restored.tsx";

export function Create({ plugin }: { plugin: string }) {
  const plugins = usePlugins();
  const { draft, change, drop, restored } = useDraft(`create ${plugin}`, newDraft({ [CLASS]: plugin }), plugins.value ?? []);
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState<Away | Refused>();
  const { sections, check, problems, warnings, wrong, readOnly } = useEditing(draft, plugins.value ?? []);
  const request = useRef({ of: "", id: "" });
  const ofName = problems.others.filter((each) => each.key === "name");
  const create = async () => {
    if (busy || readOnly !== undefined) return;
    if (!draft.name || wrong) {
      showFirstProblem();
      return;
    }
    setBusy(true);
    setTrouble(undefined);
    const body = {
      name: draft.name,
      config: draft.config,
      wantedState: `WANTED_STATE_${draft.wanted}`,
      adoptUid: draft.adopt.trim(),
      reason: draft.reason.trim(),
    };
    // The same once more is the same create, where no answer came.
    const of = JSON.stringify(body);
    if (request.current.of !== of) request.current = { of, id: newId() };
    try {
      await ask<Schemas["config.CreateConnectorResponse"]>("v1/connectors", {
        method: "POST",
        body: { ...body, requestId: request.current.id },
      });
      drop();
      notice(t("create.done", { name: draft.name }));
      go(href(["connectors", draft.name]));
    } catch (error) {
      if (!(error instanceof Away || error instanceof Refused)) throw error;
      if (error instanceof Refused && error.problem.status === 401) signedOut();
      setTrouble(error);
    }
    setBusy(false);
  };
  return (
    <>
      <p class="back">
        <a href={href(["create"])}>← {t("create.other")}</a>
      </p>
      <h1>{t("create.of", { plugin })}</h1>
      <Trouble of={[plugins]} />
      <Restored left={restored} drop={drop} />
      {plugins.value && (
        <Editor
          draft={draft}
          change={change}
          first={{}}
          plugins={plugins.value}
          sections={sections}
          problems={{ ...problems, others: problems.others.filter((each) => each.key !== "name") }}
          warnings={warnings}
          check={check}
          save={() => void create()}
          head={
            <div class="field">
              <label for="connector-name">
                {t("create.name")} <span class="needed">{t("form.required")}</span>
              </label>
              <input
                id="connector-name"
                autoComplete="off"
                spellcheck={false}
                value={draft.name}
                aria-required
                aria-invalid={ofName.length ? "true" : undefined}
                aria-describedby="connector-name-for connector-name-said"
                onInput={(event) => change({ name: event.currentTarget.value })}
              />
              <small id="connector-name-for">{t("create.nameHint")}</small>
              <div id="connector-name-said">
                <Said problems={ofName} wrong />
              </div>
            </div>
          }
        >
          <Preview config={draft.config} name={draft.name} may={!wrong && !check.pending && readOnly === undefined} />
          <Choice
            label={t("create.wanted")}
            value={draft.wanted}
            of={WANTED.map((each) => [each, t(`create.wanted.${each}`)])}
            choose={(wanted) => change({ wanted })}
          />
          <label>
            {t("create.adopt")}
            <input
              autoComplete="off"
              spellcheck={false}
              value={draft.adopt}
              onInput={(event) => change({ adopt: event.currentTarget.value })}
            />
          </label>
          <Reason value={draft.reason} change={(reason) => change({ reason })} />
          {trouble && <Refusal trouble={trouble} />}
          {readOnly !== undefined && <p class="quiet">{t("connector.readOnly", { why: readOnly })}</p>}
          <div class="orders">
            <button type="submit" disabled={busy || readOnly !== undefined} title={readOnly} aria-busy={busy}>
              {t("create.button")}
            </button>
            <button type="button" class="outline secondary" onClick={() => (drop(), go(href([])))}>
              {t("form.drop")}
            </button>
          </div>
        </Editor>
      )}
    </>
  );
}

/** 128 random bits; `crypto.randomUUID` is not there for a page that came in the clear. */
function newId(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((each) => each.toString(16).padStart(2, "0")).join("");
}

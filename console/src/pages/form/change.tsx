// Another configuration for a connector that is there.
import { useState } from "preact/hooks";

import { ask, Refused, type Schemas, segment } from "../../api/client.ts";
import { type Live, usePolled } from "../../api/live.ts";
import { type Change as Entry, type Connector, differences, WRITES } from "../../model/connectors.ts";
import type { Plugin } from "../../model/form.ts";
import { merged } from "../../model/merge.ts";
import { go, href } from "../../model/route.ts";
import { Asking, Reason } from "../../parts/asking.tsx";
import { Difference } from "../../parts/difference.tsx";
import { notice } from "../../parts/notice.tsx";
import { Trouble } from "../../parts/shown.tsx";
import { moment, t } from "../../words/words.ts";
import { usePlugins } from "./choose.tsx";
import { newDraft, useDraft } from "./draft.ts";
import { useEditing } from "./editing.ts";
import { Editor, showFirstProblem } from "./editor.tsx";
import { Preview } from "./preview.tsx";
import { Restored } from "./restored.tsx";

const CONNECTOR_MS = 5000;

export function Change({ name }: { name: string }) {
  const path = `v1/connectors/${segment(name)}`;
  const plugins = usePlugins();
  const stored = usePolled(
    async (signal) => (await ask<Schemas["config.GetConnectorResponse"]>(path, { signal })).connector ?? {},
    CONNECTOR_MS,
    path,
  );
  return (
    <>
      <p class="back">
        <a href={href(["connectors", name, "configuration"])}>← {name}</a>
      </p>
      <h1>{t("edit.title", { name })}</h1>
      <Trouble of={[stored, plugins]} />
      {plugins.value && stored.value && (
        <Form path={path} plugins={plugins.value} now={stored.value} again={stored.again} />
      )}
    </>
  );
}

function Form({ path, plugins, now, again }: { path: string; plugins: Plugin[]; now: Connector; again: () => void }) {
  const { draft, change, drop, restored } = useDraft(`change ${now.name}`, newDraft(now.config ?? {}, now), plugins);
  const [asking, setAsking] = useState(false);
  const { sections, check, problems, warnings, wrong, readOnly } = useEditing(draft, plugins);
  const base = draft.base ?? now;
  const isMine = base.uid === now.uid && base.revision === now.revision;
  const changed = differences({ ...now.config }, { ...draft.config }).length > 0;
  const save = () => {
    if (readOnly !== undefined || !isMine || !changed) return;
    if (wrong) showFirstProblem();
    else setAsking(true);
  };
  const store = async () => {
    try {
      // Who paused it meanwhile has changed its etag, and nothing of what is written here.
      await ask(path, { method: "PUT", body: { config: draft.config, etag: now.etag, reason: draft.reason.trim() } });
    } catch (error) {
      if (error instanceof Refused && error.problem.reason === "ETAG_MISMATCH") again();
      throw error;
    }
  };
  return (
    <>
      <Restored left={restored} drop={drop} />
      {!isMine && (
        <Meanwhile
          path={path}
          base={base}
          now={now}
          mine={draft.config}
          take={(config) => change({ config, base: now, typed: null })}
        />
      )}
      <Editor
        draft={draft}
        change={change}
        first={base.config ?? {}}
        plugins={plugins}
        sections={sections}
        problems={problems}
        warnings={warnings}
        check={check}
        save={save}
      >
        <Preview config={draft.config} name={draft.name} may={!wrong && !check.pending && readOnly === undefined} />
        {readOnly !== undefined && <p class="quiet">{t("connector.readOnly", { why: readOnly })}</p>}
        <div class="orders">
          <button type="submit" disabled={readOnly !== undefined || !isMine || !changed} title={readOnly}>
            {t("edit.save")}
          </button>
          <button
            type="button"
            class="outline secondary"
            onClick={() => (drop(), go(href(["connectors", now.name ?? "", "configuration"])))}
          >
            {t("form.drop")}
          </button>
          {!changed && <span class="quiet">{t("difference.none")}</span>}
        </div>
      </Editor>
      {asking && (
        <Asking
          title={t("edit.ask", { name: now.name ?? "" })}
          answer={t("edit.store")}
          ready={isMine}
          wide
          give={store}
          close={(given) => {
            setAsking(false);
            if (!given) return;
            drop();
            notice(t("edit.done", { name: now.name ?? "" }));
            go(href(["connectors", now.name ?? "", "configuration"]));
          }}
        >
          <p>{t("edit.consequence")}</p>
          <Difference before={now.config ?? {}} after={draft.config} />
          <Reason value={draft.reason} change={(reason) => change({ reason })} />
        </Asking>
      )}
    </>
  );
}

interface Both {
  path: string;
  base: Connector;
  now: Connector;
  mine: Readonly<Record<string, string>>;
  take: (config: Readonly<Record<string, string>>) => void;
}

/** Somebody else has stored another configuration since this one was read. */
function Meanwhile({ path, base, now, mine, take }: Both) {
  const changes: Live<Entry[]> = usePolled(
    async (signal) =>
      (await ask<Schemas["config.ListChangesResponse"]>(`${path}/changes?pageSize=50`, { signal })).changes ?? [],
    CONNECTOR_MS,
    `${path} ${now.revision}`,
  );
  const theirs = now.config ?? {};
  const together = merged(base.config ?? {}, mine, theirs);
  const last = changes.value?.find(
    (each) => each.connectorUid === now.uid && each.revision === now.revision && WRITES.includes(each.action ?? ""),
  );
  return (
    <section role="alert" class="alert">
      <h2>{t("edit.meanwhile", { revision: now.revision ?? "" })}</h2>
      {last && (
        <p>
          {t("edit.by", { author: last.author ?? "", time: last.time ? moment(last.time) : "" })}
          {last.reason && ` ${t("edit.why", { reason: last.reason })}`}
        </p>
      )}
      <Difference before={base.config ?? {}} after={theirs} />
      {together.both.length > 0 && <p>{t("edit.both", { keys: together.both.join(", ") })}</p>}
      <div class="orders">
        <button type="button" onClick={() => take(together.config)}>
          {t("edit.merge")}
        </button>
        <button type="button" class="outline secondary" onClick={() => take(theirs)}>
          {t("edit.takeTheirs")}
        </button>
      </div>
    </section>
  );
}

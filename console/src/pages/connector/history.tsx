import { useState } from "preact/hooks";

import { ask, type Schemas } from "../../api/client.ts";
import { usePolled } from "../../api/live.ts";
import { type Change, type Connector, differences, type Revision, WRITES } from "../../model/connectors.ts";
import { useSession } from "../../model/session.ts";
import { Old, Trouble } from "../../parts/shown.tsx";
import { Table } from "../../parts/table.tsx";
import { moment, t, type Word } from "../../words/words.ts";
import { Rollback } from "./rollback.tsx";

const EVERY_MS = 5000;
const MOST = 200;
const ACTIONS = [
  "CREATE",
  "UPDATE",
  "ROLLBACK",
  "DELETE",
  "PAUSE",
  "RESUME",
  "STOP",
  "RESTART",
  "MOVE_POSITIONS",
  "CLEAN_UP",
  "CLEANUP_FAILED",
  "CLEANUP_GIVEN_UP",
] as const;

/** `connector`: the one that has the name now. */
export function History({ path, connector, done }: { path: string; connector?: Connector; done: () => void }) {
  const live = usePolled(
    async (signal) => {
      const [changes, revisions] = await Promise.all([
        ask<Schemas["config.ListChangesResponse"]>(`${path}/changes?pageSize=${MOST}`, { signal }),
        ask<Schemas["config.ListRevisionsResponse"]>(`${path}/revisions?pageSize=${MOST}`, { signal }),
      ]);
      return { changes: changes.changes ?? [], revisions: revisions.revisions ?? [] };
    },
    EVERY_MS,
    path,
  );
  return (
    <>
      <Trouble of={[live]} />
      {live.value && (
        <Old of={[live]}>
          {live.value.changes.length ? (
            <Listed
              path={path}
              changes={live.value.changes}
              revisions={live.value.revisions}
              connector={connector}
              done={() => (live.again(), done())}
            />
          ) : (
            <p>{t("history.none")}</p>
          )}
        </Old>
      )}
    </>
  );
}

interface ListedOf {
  path: string;
  changes: Change[];
  revisions: Revision[];
  connector: Connector | undefined;
  done: () => void;
}

function Listed({ path, changes, revisions, connector, done }: ListedOf) {
  const session = useSession();
  const [asked, setAsked] = useState<Revision | null>(null);
  const known = new Map(revisions.map((each) => [`${each.connectorUid} ${each.revision}`, each]));
  return (
    <>
      <Table columns={["column.time", "column.action", "column.revision", "column.who", "column.reason"]}>
        {changes.map((each) => {
          const own = known.get(`${each.connectorUid} ${each.revision}`);
          const before = known.get(`${each.connectorUid} ${Number(each.revision) - 1}`);
          return (
            <tr key={`${each.connectorUid} ${each.time} ${each.action} ${each.revision}`}>
              <td data-label={t("column.time")}>{each.time && moment(each.time)}</td>
              <td data-label={t("column.action")}>
                {t(wordOf(each))}
                {WRITES.includes(each.action ?? "") && own && <Changed own={own} before={before} />}
              </td>
              <td data-label={t("column.revision")}>
                {Number(each.ofRevision ?? 0) > 0
                  ? t("history.ofRevision", { revision: each.revision ?? "", of: each.ofRevision ?? "" })
                  : each.revision}{" "}
                {WRITES.includes(each.action ?? "") &&
                  own &&
                  own.connectorUid === connector?.uid &&
                  own.revision !== connector?.revision && (
                    <button
                      type="button"
                      class="outline secondary small"
                      disabled={session.readOnly !== undefined}
                      title={session.readOnly}
                      aria-label={t("rollback.to", { revision: own.revision ?? "" })}
                      onClick={() => setAsked(own)}
                    >
                      {t("rollback.button")}
                    </button>
                  )}
              </td>
              <td data-label={t("column.who")}>
                {each.onBehalfOf ? t("history.for", { author: each.author ?? "", other: each.onBehalfOf }) : each.author}
              </td>
              <td data-label={t("column.reason")}>{each.reason}</td>
            </tr>
          );
        })}
      </Table>
      {asked && connector && (
        <Rollback
          path={path}
          connector={connector}
          revision={asked}
          close={(given) => {
            setAsked(null);
            if (given) done();
          }}
        />
      )}
    </>
  );
}

function wordOf(change: Change): Word {
  const action = ACTIONS.find((each) => change.action === `ACTION_${each}`);
  return action ? `change.${action}` : "change.UNSPECIFIED";
}

function Changed({ own, before }: { own: Revision; before: Revision | undefined }) {
  if (!before && own.revision !== "1") return <></>;
  const changed = differences(before?.config ?? {}, own.config ?? {});
  if (before && !changed.length) return <p class="quiet">{t("history.same", { before: before.revision ?? "" })}</p>;
  const numbers = { before: before?.revision ?? "", after: own.revision ?? "" };
  return (
    <details>
      <summary>{before ? t("history.differences", numbers) : t("history.first")}</summary>
      <pre class="difference">
        {changed.map(({ key, before: old, after }) => (
          <span key={key}>
            {old !== undefined && <del>{`- ${key}=${old}\n`}</del>}
            {after !== undefined && <ins>{`+ ${key}=${after}\n`}</ins>}
          </span>
        ))}
      </pre>
    </details>
  );
}

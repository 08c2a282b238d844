// Positions are moved by hand: where to, what follows from it, and then once more whether it is meant.
import { useState } from "preact/hooks";

import { ask, type Schemas } from "../../api/client.ts";
import { type Connector, type Position, wantedOf } from "../../model/connectors.ts";
import { type Chosen, directionOf, orderOf, WAYS } from "../../model/moving.ts";
import { sentence } from "../../model/problems.ts";
import { Asking } from "../../parts/asking.tsx";
import { notice } from "../../parts/notice.tsx";
import { Table } from "../../parts/table.tsx";
import { t } from "../../words/words.ts";

interface Of {
  path: string;
  connector: Connector;
  positions: readonly Position[];
  close: (given: boolean) => void;
}

type Answer = Schemas["position.AlterPositionsResponse"];

export function Move({ path, connector, positions, close }: Of) {
  const [chosen, setChosen] = useState<Chosen>({ way: "EARLIEST", time: "", offsets: {}, partitions: [] });
  const [told, setTold] = useState<Answer>();
  const order = orderOf(chosen);
  const wrong = "wrong" in order ? order.wrong : [];
  const stopped = wantedOf(connector) === "STOPPED";
  const name = connector.name ?? "";
  const choose = (part: Partial<Chosen>) => {
    setChosen({ ...chosen, ...part });
    setTold(undefined);
  };
  const give = async () => {
    if ("wrong" in order) return false;
    const answer = await ask<Answer>(`${path}/positions:${order.verb}`, {
      method: "POST",
      body: { ...order.body, dryRun: !told },
    });
    if (told) {
      notice(t("move.done", { name }));
      return true;
    }
    setTold(answer);
    return false;
  };
  return (
    <Asking
      title={t("move.title", { name })}
      answer={t(told ? "move.give" : "move.look")}
      danger={told !== undefined}
      ready={!("wrong" in order) && (!told || (stopped && (told.changes ?? []).length > 0))}
      wide
      give={give}
      close={close}
    >
      <fieldset>
        <legend>{t("move.where")}</legend>
        {WAYS.map((each) => (
          <label key={each}>
            <input type="radio" name="way" checked={chosen.way === each} onChange={() => choose({ way: each })} />
            {t(`move.way.${each}`)}
          </label>
        ))}
      </fieldset>
      {chosen.way === "TIME" && (
        <label>
          {t("move.time")}
          <input
            type="datetime-local"
            step={1}
            value={chosen.time}
            onInput={(event) => choose({ time: event.currentTarget.value })}
          />
        </label>
      )}
      {chosen.way === "OFFSETS" &&
        positions.map(({ partition = "", offset = "" }) => (
          <label key={partition}>
            <code>{partition}</code>
            <input
              autoComplete="off"
              inputMode="numeric"
              placeholder={t("move.stays", { offset })}
              value={chosen.offsets[partition] ?? ""}
              aria-invalid={wrong.includes(partition) ? "true" : undefined}
              aria-describedby={wrong.includes(partition) ? "move-wrong" : undefined}
              onInput={(event) => choose({ offsets: { ...chosen.offsets, [partition]: event.currentTarget.value } })}
            />
          </label>
        ))}
      {wrong.length > 0 && (
        <p class="why" id="move-wrong" role="alert">
          {t("move.wrong")}
        </p>
      )}
      {(chosen.way === "EARLIEST" || chosen.way === "LATEST" || chosen.way === "TIME") && positions.length > 1 && (
        <details>
          <summary>{t("move.some")}</summary>
          {positions.map(({ partition = "" }) => (
            <label key={partition}>
              <input
                type="checkbox"
                checked={chosen.partitions.includes(partition)}
                onChange={(event) =>
                  choose({
                    partitions: event.currentTarget.checked
                      ? [...chosen.partitions, partition]
                      : chosen.partitions.filter((each) => each !== partition),
                  })
                }
              />
              <code>{partition}</code>
            </label>
          ))}
        </details>
      )}
      <p>{t(chosen.way === "RESET" ? "move.consequence.reset" : "move.consequence.moved")}</p>
      {told && <Told told={told} />}
      {!stopped && <p class="alert">{t("move.notStopped")}</p>}
    </Asking>
  );
}

/** What would be moved, as the service says. */
function Told({ told }: { told: Answer }) {
  const changes = told.changes ?? [];
  return (
    <section role="status">
      {changes.length ? (
        <Table columns={["column.partition", "column.before", "column.after", "column.follows"]}>
          {changes.map((each) => (
            <tr key={each.partition}>
              <td data-label={t("column.partition")}>
                <code>{each.partition}</code>
              </td>
              <td data-label={t("column.before")}>
                <code>{each.fromOffset || t("difference.notGiven")}</code>
              </td>
              <td data-label={t("column.after")}>
                <code>{each.toOffset || t("difference.notGiven")}</code>
              </td>
              <td data-label={t("column.follows")}>
                {t(`move.direction.${directionOf(each.fromOffset ?? "", each.toOffset ?? "")}`)}
              </td>
            </tr>
          ))}
        </Table>
      ) : (
        <p>{t("move.nothing")}</p>
      )}
      {(told.leftOut ?? []).map((each) => (
        <p key={each.key} class="why warned">
          <code>{each.key}</code> {sentence(each)}
        </p>
      ))}
      {(told.offsetAlone ?? []).length > 0 && (
        <p class="why warned">{t("move.offsetAlone", { partitions: told.offsetAlone!.join(", ") })}</p>
      )}
    </section>
  );
}

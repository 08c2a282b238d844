import { ask, askAll, Refused, type Schemas, segment } from "../../api/client.ts";
import { usePolled } from "../../api/live.ts";
import { type ConnectorState, type Position, stateOf } from "../../model/connectors.ts";
import { areTaken, type Replay } from "../../model/letters.ts";
import { href } from "../../model/route.ts";
import { Badge, Old, Trouble } from "../../parts/shown.tsx";
import { Table } from "../../parts/table.tsx";
import { number, t } from "../../words/words.ts";

const EVERY_MS = 1500;

interface Known {
  replay: Replay;
  /** Of the connector that sends them; undefined: there is none, or none yet. */
  sender?: ConnectorState;
  /** The sink has come to all that were sent to it; undefined: nobody knows who reads them. */
  taken?: boolean;
}

async function look(path: string, replay: string, signal: AbortSignal): Promise<Known> {
  const found = await ask<Replay>(`${path}/replays/${segment(replay)}`, { signal });
  if (!found.done) return { replay: found, sender: await senderOf(replay, signal) };
  const ends = found.ends ?? {};
  if (!Object.keys(ends).length) return { replay: found };
  const taken = areTaken(ends, await askAll<Position>(`${path}/positions`, "positions", signal));
  // What came back is asked for behind the position: what was to come back has come back then.
  return { replay: taken ? await ask<Replay>(`${path}/replays/${segment(replay)}`, { signal }) : found, taken };
}

async function senderOf(replay: string, signal: AbortSignal): Promise<ConnectorState | undefined> {
  try {
    return (await ask<Schemas["state.GetConnectorStateResponse"]>(`v1/connectors/${segment(replay)}/state`, { signal })).state;
  } catch (error) {
    if (error instanceof Refused && error.problem.status === 404) return undefined;
    throw error;
  }
}

/** How far a replay is, and what became of what it sent. */
export function Following({ name, path, replay }: { name: string; path: string; replay: string }) {
  const live = usePolled((signal) => look(path, replay, signal), EVERY_MS, `${path} ${replay}`);
  return (
    <>
      <p class="back">
        <a href={href(["connectors", name, "letters"])}>← {t("letters.back")}</a>
      </p>
      <h2>{t("following.title", { replay })}</h2>
      <Trouble of={[live]} />
      {live.value && (
        <Old of={[live]}>
          <Told name={name} replay={replay} known={live.value} />
        </Old>
      )}
    </>
  );
}

function Told({ name, replay, known: { replay: found, sender, taken } }: { name: string; replay: string; known: Known }) {
  const [sent, leftOut, returned] = [found.sent, found.leftOut, found.returned].map((each) => Number(each ?? 0));
  return (
    <>
      <div role="status">
        <p>
          {t(found.done ? "following.sent" : "following.sending", { count: number(sent ?? 0) })}{" "}
          {leftOut ? t("following.leftOut", { count: number(leftOut) }) : ""}
        </p>
        {found.done && sent ? (
          <p>{t(`following.${outcome(taken, returned ?? 0)}`, { name, count: number(returned ?? 0) })}</p>
        ) : null}
      </div>
      {!found.done && (
        <p>
          {sender ? (
            <>
              <a href={href(["connectors", replay])}>{replay}</a> <Badge state={stateOf(sender)} />
            </>
          ) : (
            t("following.nobody")
          )}
        </p>
      )}
      {sender?.trace && <pre class="alert">{sender.trace}</pre>}
      {leftOut ? <pre>{found.leftOutIds?.join("\n")}</pre> : null}
      {returned ? (
        <Table columns={["column.letter", "column.was", "column.why"]}>
          {found.returnedLetters?.map((each) => (
            <tr key={each.id} class="wrong">
              <td data-label={t("column.letter")}>
                <a href={href(["connectors", name, "letters", each.id ?? ""])}>{each.id}</a>
              </td>
              <td data-label={t("column.was")}>{each.cameBackFrom}</td>
              <td data-label={t("column.why")}>
                <p class="why">
                  {each.error && <b>{each.error}: </b>}
                  {each.message}
                </p>
              </td>
            </tr>
          ))}
        </Table>
      ) : null}
    </>
  );
}

function outcome(taken: boolean | undefined, returned: number): "unknown" | "waiting" | "cameBack" | "taken" {
  if (returned) return "cameBack";
  return taken === undefined ? "unknown" : taken ? "taken" : "waiting";
}

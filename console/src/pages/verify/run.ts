// One comparison of tables, page by page, until it is decided which rows differ; and a repair. The steps of `rocketconnect verify`.
import { type ask, type askAll, Refused, type Schemas, segment } from "../../api/client.ts";
import { type ConnectorState, lagOf, type Position, type State, stateOf, topicsOf } from "../../model/connectors.ts";
import { type Awaited, awaitedOf, Passage, type Pipeline, SENDING_MS, STALE_MS } from "../../model/verify/passage.ts";
import type { Repair, Sending } from "../../model/verify/repair.ts";
import { type Table, withCompared } from "../../model/verify/result.ts";
import { type RowDifference, Suspects } from "../../model/verify/settling.ts";

/** Rows that are asked for at once. */
const KEYS = 1000;
/** So often rows that differ are looked at within the time for which they must stay so. */
const LOOKS = 4;
/** So many times that time rows may go on changing, and the source may be busy. */
const PATIENCE = 6;
const BUSY = "is asked for already";
const BUSY_MS = 300;
const STANDING: readonly State[] = ["PAUSED", "STOPPED", "FAILED"];

export interface Options {
  source: string;
  sink: string;
  tables: Readonly<Record<string, string>>;
  /** A row is different when it has been so for so long. */
  waitMs: number;
  /** A table is compared until so many of its rows differ. */
  limit: number;
}

export type Progress =
  | { step: "COMPARING" }
  | { step: "SETTLING"; rows: number; awaited: Awaited }
  | { step: "SENDING"; table: string; number: number; of: number };

export interface Found {
  tables: Table[];
  different: RowDifference[];
  /** They differ, and it is not decided whether they stay so. */
  pending: RowDifference[];
  /** All tables were compared to their end. */
  complete: boolean;
  /** Rows that were sent again. */
  repaired: number;
}

/** Nothing can be compared, because of these problems; or it could not go on. */
export class NotCompared extends Error {
  readonly problems: readonly Schemas["connector.Problem"][];

  constructor(problems: readonly Schemas["connector.Problem"][], trouble: string) {
    super(trouble);
    this.problems = problems;
  }
}

interface Api {
  ask: typeof ask;
  askAll: typeof askAll;
}

/** Its methods run one after the other, and throw Refused, Away, NotCompared, or what `signal` was aborted with. */
export class Run {
  readonly #api: Api;
  readonly #options: Options;
  readonly #tell: (progress: Progress, found: Found) => void;
  readonly #suspects: Suspects;
  readonly #passage = new Passage();
  #tables: Table[] = [];
  #complete = false;
  #repaired = 0;

  constructor(api: Api, options: Options, tell: (progress: Progress, found: Found) => void) {
    this.#api = api;
    this.#options = options;
    this.#tell = tell;
    this.#suspects = new Suspects(options.waitMs);
  }

  get found(): Found {
    const { different, pending } = this.#suspects;
    return { tables: this.#tables, different, pending, complete: this.#complete, repaired: this.#repaired };
  }

  /** All tables, once, each until so many of its rows differ; then the rows that differ, until they are decided. */
  async compare(signal: AbortSignal): Promise<void> {
    let [pageToken, nextTable, complete] = ["", false, true];
    do {
      this.#tell({ step: "COMPARING" }, this.found);
      const answer = await this.#verify({ pageToken, nextTable }, signal);
      this.#suspects.add(answer.differences ?? [], performance.now());
      this.#tables = withCompared(this.#tables, answer.tables ?? []);
      pageToken = answer.nextPageToken ?? "";
      const open = pageToken ? answer.tables?.find((each) => !each.done) : undefined;
      nextTable = open !== undefined && this.#suspects.ofTable(open.table ?? "") >= this.#options.limit;
      complete &&= !nextTable;
    } while (pageToken);
    this.#complete = complete;
    await this.#settle(signal);
  }

  /** Lets the source send rows again, and looks at them again. */
  async repair({ sendings, again, deleted }: Repair, signal: AbortSignal): Promise<void> {
    for (const [index, each] of sendings.entries()) {
      this.#tell({ step: "SENDING", table: each.tables, number: index + 1, of: sendings.length }, this.found);
      await this.#send(each, signal);
    }
    const rows = [...again, ...deleted];
    this.#repaired = rows.length;
    this.#suspects.doubt(rows, performance.now());
    await this.#settle(signal);
  }

  async #settle(signal: AbortSignal): Promise<void> {
    const { waitMs } = this.#options;
    const begun = performance.now();
    const patience = waitMs * PATIENCE + STALE_MS + SENDING_MS;
    let [until, left] = [begun + patience, 0];
    while (this.#suspects.pending.length && performance.now() <= until) {
      const seen = await this.#look(signal);
      this.#passage.look(seen);
      if (this.#passage.passed < begun && this.#passage.left !== left) {
        // It moves; how long that takes is no matter of rows that change again and again.
        [until, left] = [performance.now() + patience, this.#passage.left];
      }
      const rows = this.#suspects.pending;
      const awaited = awaitedOf(this.#passage, seen, this.#suspects.newest);
      this.#tell({ step: "SETTLING", rows: rows.length, awaited }, this.found);
      await sleep(waitMs / LOOKS, signal);
      for (let begin = 0; begin < rows.length; begin += KEYS) {
        const asked = rows.slice(begin, begin + KEYS);
        const answer = await this.#verify({ keys: asked.map(({ table, key }) => ({ table, key })) }, signal);
        this.#suspects.lookAgain(asked, answer.differences ?? [], performance.now(), this.#passage.passed);
      }
    }
  }

  async #verify(more: object, signal: AbortSignal): Promise<Schemas["config.VerifyConnectorResponse"]> {
    const { source, sink, tables } = this.#options;
    const answer = await this.#api.ask<Schemas["config.VerifyConnectorResponse"]>(`${pathOf(source)}:verify`, {
      method: "POST",
      body: { sink, tables, ...more },
      signal,
    });
    if (answer.problems?.length || answer.trouble) throw new NotCompared(answer.problems ?? [], answer.trouble ?? "");
    return answer;
  }

  /** How far the pipeline is, as the services say; the source last: what it has read later is not counted. */
  async #look(signal: AbortSignal): Promise<Pipeline> {
    const { source, sink } = this.#options;
    const { ask, askAll } = this.#api;
    const at = performance.now();
    const stateAt = async (name: string): Promise<ConnectorState> =>
      (await ask<Schemas["state.GetConnectorStateResponse"]>(`${pathOf(name)}/state`, { signal })).state ?? {};
    const sinkState = await stateAt(sink);
    const { connector } = await ask<Schemas["config.GetConnectorResponse"]>(pathOf(sink), { signal });
    const positions = await askAll<Position>(`${pathOf(sink)}/positions`, "positions", signal);
    const topics = topicsOf("SINK", connector?.config ?? {});
    const queues = (await askAll<Schemas["topic.Topic"]>("v1/topics", "topics", signal))
      .filter((each) => topics.includes(each.name ?? ""))
      .flatMap((each) => each.queues ?? []);
    const sourceState = await stateAt(source);
    const states = [[sink, stateOf(sinkState)] as const, [source, stateOf(sourceState)] as const];
    const lag = lagOf(sourceState.tasks ?? []);
    return {
      at,
      standing: new Map(states.filter(([, state]) => STANDING.includes(state))),
      read: stateOf(sourceState) === "IDLE" || lag?.amount === 0,
      unread: lag,
      ends: new Map(queues.map((each) => [each.queue ?? "", Number(each.latest ?? 0)])),
      positions: new Map([
        ...queues.map((each) => [each.queue ?? "", Number(each.earliest ?? 0)] as const),
        ...positions
          .filter((each) => !each.partition?.startsWith("~"))
          .map((each) => [each.partition ?? "", Number((each.offset ?? "").replace(/[[\]]/g, ""))] as const),
      ]),
    };
  }

  /** A table is read for one condition at a time. */
  async #send(sending: Sending, signal: AbortSignal): Promise<void> {
    const until = performance.now() + PATIENCE * this.#options.waitMs;
    const body = { signal: "execute-snapshot", arguments: sending };
    for (;;) {
      try {
        await this.#api.ask(`${pathOf(this.#options.source)}:signal`, { method: "POST", body, signal });
        return;
      } catch (error) {
        if (!(error instanceof Refused && error.message.includes(BUSY)) || performance.now() > until) throw error;
      }
      await sleep(BUSY_MS, signal);
    }
  }
}

function pathOf(name: string): string {
  return `v1/connectors/${segment(name)}`;
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const end = () => (clearTimeout(timer), reject(signal.reason as Error));
    const timer = setTimeout(() => (signal.removeEventListener("abort", end), resolve()), ms);
    signal.addEventListener("abort", end, { once: true });
  });
}

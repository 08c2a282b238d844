// How the console compares tables: what stays different, what is repaired, and what it asks. Run by test_model.py: `node --test`.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Refused } from "../../console/src/api/client.ts";
import { rowsOf, sourcesOf } from "../../console/src/model/connectors.ts";
import { awaitedOf, Passage, SENDING_MS, STALE_MS } from "../../console/src/model/verify/passage.ts";
import { LONGEST_CONDITION, repairOf } from "../../console/src/model/verify/repair.ts";
import { resultOf, targetsOf, withCompared } from "../../console/src/model/verify/result.ts";
import { Suspects } from "../../console/src/model/verify/settling.ts";
import { NotCompared, Run } from "../../console/src/pages/verify/run.ts";

const row = (key, kind = "MISSING", more = {}) => ({ table: "t", key, kind: `DIFFERENCE_KIND_${kind}`, sourceDigest: "a", ...more });
const keysOf = (rows) => rows.map((each) => each.key);

test("a row counts as different when it has stayed so for long enough, and what was in the source then has come through", () => {
  const suspects = new Suspects(10);
  suspects.add([row("1"), row("2"), row("3")], 5);
  suspects.lookAgain(suspects.pending, [row("1"), row("2", "MISSING", { sourceDigest: "b" })], 14, 14);
  assert.deepEqual([keysOf(suspects.pending), suspects.different], [["1", "2"], []], "3 is equal by now");
  suspects.lookAgain(suspects.pending, suspects.pending, 15, 4);
  assert.deepEqual(suspects.different, [], "it may be under way");
  suspects.lookAgain(suspects.pending, suspects.pending, 16, 5);
  assert.deepEqual([keysOf(suspects.different), keysOf(suspects.pending), suspects.newest], [["1"], ["2"], 14]);
  suspects.doubt(suspects.different, 20);
  assert.deepEqual([suspects.different, keysOf(suspects.pending)], [[], ["2", "1"]], "it was sent again");
});

const seen = (at, { read = true, end = 0, position = 0, standing = {} } = {}) => ({
  at,
  standing: new Map(Object.entries(standing)),
  read,
  unread: { amount: 7, unit: "bytes" },
  ends: new Map([["q", end]]),
  positions: new Map([["q", position]]),
});

test("what was read has passed when the sink is at the ends that the topic had then, and it is said what is waited for", () => {
  const passage = new Passage();
  const steps = [];
  const look = (now) => {
    passage.look(now);
    const { what, left } = awaitedOf(passage, now, 90_000);
    steps.push(`${what} ${left}`);
  };
  look(seen(99_000, { read: false }));
  look(seen(100_000, { end: 7, position: 7 }));
  look(seen(100_000 + SENDING_MS, { read: false, end: 9, position: 8 }));
  assert.equal(passage.passed, -Infinity);
  look(seen(110_000, { read: false, end: 20, position: 9 }));
  assert.equal(passage.passed, 100_000 - STALE_MS);
  assert.deepEqual(steps, ["READING 0", "SENDING 0", "WRITING 1", "TIME 11"]);
});

test("where a connector stands, time alone decides", () => {
  const passage = new Passage();
  const now = seen(101_000, { end: 5, read: false, standing: { copy: "PAUSED" } });
  passage.look(now);
  assert.deepEqual([passage.passed, awaitedOf(passage, now, 100_000).what], [101_000, "TIME"]);
});

test("rows of a table are sent again with few conditions, and deleted by their keys, none of which is too long", () => {
  const rows = Array.from({ length: 100 }, (_, number) => row(`[${number}]`, "DIFFERENT", { condition: `id = (${number})` }));
  const extra = Array.from({ length: 100 }, (_, number) => row(`["ä${number}"]`, "EXTRA", { condition: "x" }));
  const { sendings, again, deleted, kept, left } = repairOf([...rows, ...extra, row("[7]", "MISSING", { table: "u", condition: "y" })], true);
  assert.deepEqual([again.length, deleted.length, kept, left], [101, 100, [], []]);
  assert(sendings.every((each) => Buffer.byteLength(each.condition ?? each.keys) <= LONGEST_CONDITION));
  assert(sendings.length < 25, `${sendings.length}`);
  const conditions = sendings.filter((each) => each.condition && each.tables === "t");
  assert.deepEqual(new Set(conditions.flatMap((each) => each.condition.split(" OR "))), new Set(rows.map((each) => `(${each.condition})`)));
  const keys = sendings.flatMap((each) => JSON.parse(each.keys ?? "[]"));
  assert.deepEqual(new Set(keys.map(([key]) => key)), new Set(extra.map((each) => JSON.parse(each.key)[0])));
  assert.deepEqual(sendings.filter((each) => each.tables === "u"), [{ tables: "u", condition: "(y)" }]);
});

test("a key of any digits is sent as it was written, and what can't be mended is told apart", () => {
  const long = row("[3]", "MISSING", { condition: "x".repeat(LONGEST_CONDITION) });
  const all = [row("[12345678901234567890]", "EXTRA", { condition: "x" }), row("[2]"), long, row("[4]", "REFUSED", { condition: "x" })];
  assert.deepEqual(repairOf(all, true).sendings, [{ tables: "t", keys: "[[12345678901234567890]]" }]);
  const { sendings, kept, left } = repairOf(all, false);
  assert.deepEqual([sendings, keysOf(kept), keysOf(left)], [[], ["[12345678901234567890]"], ["[2]", "[3]", "[4]"]]);
});

test("a table that several answers tell of is one, and what differs is not counted as equal", () => {
  const told = (rows, done) => ({ table: "t", target: "copy", rows, done, leftOut: ["note"] });
  const tables = withCompared(withCompared([], [told("1000")]), [told("500", true), { table: "u", rows: "2", done: true }]);
  const different = [row("[10]"), row("[9]", "EXTRA"), row("[2]", "DIFFERENT"), row("[11]", "UNHEARD_OF")];
  const [first, second] = resultOf(tables, different, [row("[3]"), row("[4]", "EXTRA")], 3);
  assert.deepEqual([first.rows, first.done, first.target, first.leftOut], [1500, true, "copy", ["note"]]);
  assert.deepEqual(first.counts, { MISSING: 1, EXTRA: 1, DIFFERENT: 2, REFUSED: 0 });
  assert.deepEqual([first.equal, first.unsettled, keysOf(first.first)], [1500 - 4, 2, ["[2]", "[9]", "[10]"]]);
  assert.deepEqual([second.equal, second.first], [2, []]);
});

test("tables are named a line each, with the place of their rows behind the first sign of equality", () => {
  assert.deepEqual(targetsOf(" shop.t \n\nshop.u = public.a=b"), { "shop.t": "", "shop.u": "public.a=b" });
  assert.deepEqual(targetsOf(" \n"), {});
});

test("a sink is compared with those that write its topics, and with any source where none is known to", () => {
  const of = (name, type, config) => ({ name, uid: name, type: `CONNECTOR_TYPE_${type}`, config });
  const rows = rowsOf([of("z", "SOURCE", { topic: "t" }), of("a", "SOURCE", {}), of("s", "SINK", { topics: "t" }), of("o", "SINK", {})], new Map());
  const found = (name) => sourcesOf(rows.find((each) => each.name === name), rows);
  assert.deepEqual([found("s"), found("o")], [["z"], ["a", "z"]]);
});

/** A stand-in for `/v1`: a pipeline that stands still, whose answers to `:verify` and `:signal` are given in their order. */
function api(verified, signalled = []) {
  const asked = [];
  return {
    asked,
    askAll: async () => [],
    ask: async (path, { body } = {}) => {
      if (path.endsWith("/state")) return { state: { state: "STATE_PAUSED" } };
      if (!body) return { connector: { config: { topics: "t" } } };
      asked.push([path, body]);
      const answer = (path.endsWith(":signal") ? signalled : verified).shift() ?? {};
      if (answer instanceof Error) throw answer;
      return answer;
    },
  };
}

const OPTIONS = { source: "shop", sink: "copy", tables: {}, waitMs: 1, limit: 10 };
const differing = (key) => ({ differences: [row(key, "MISSING", { condition: "id = (1)" })] });

test("pages are asked for until the last one, then what differs until it is decided", async () => {
  const pages = [{ tables: [{ table: "t", rows: "2" }], nextPageToken: "more" }, { tables: [{ table: "t", rows: "1", done: true }], ...differing("[1]") }];
  const { asked, ...stand } = api([...pages, ...Array(50).fill(differing("[1]"))]);
  const told = [];
  const run = new Run(stand, OPTIONS, ({ step }, { tables }) => told.push(`${step} ${tables[0]?.rows}`));
  await run.compare(new AbortController().signal);
  assert.deepEqual(asked.slice(0, 2), [
    ["v1/connectors/shop:verify", { sink: "copy", tables: {}, pageToken: "", nextTable: false }],
    ["v1/connectors/shop:verify", { sink: "copy", tables: {}, pageToken: "more", nextTable: false }],
  ]);
  assert.deepEqual(asked[2][1].keys, [{ table: "t", key: "[1]" }]);
  assert.deepEqual(told.slice(0, 3), ["COMPARING undefined", "COMPARING 2", "SETTLING 3"]);
  assert.deepEqual([keysOf(run.found.different), run.found.pending, run.found.complete], [["[1]"], [], true]);
});

test("a table with too many rows that differ is left, the next ones are compared, and it is said that there may be more", async () => {
  const other = { differences: [{ ...row("[5]"), table: "u" }] };
  const { asked, ...stand } = api([
    { tables: [{ table: "t", rows: "2" }], ...differing("[1]"), nextPageToken: "in t" },
    { tables: [{ table: "u", rows: "3", done: true }], ...other },
    ...Array(50).fill({ differences: [row("[1]"), ...other.differences] }),
  ]);
  const run = new Run(stand, { ...OPTIONS, limit: 1 }, () => {});
  await run.compare(new AbortController().signal);
  const asks = asked.map(([, { pageToken, nextTable }]) => [pageToken, nextTable]);
  assert.deepEqual(asks.slice(0, 3), [["", false], ["in t", true], [undefined, undefined]]);
  assert.deepEqual(run.found.tables.map(({ table, rows, done }) => [table, rows, done]), [["t", 2, false], ["u", 3, true]]);
  assert.deepEqual([keysOf(run.found.different), run.found.complete], [["[1]", "[5]"], false]);
});

test("what can't be compared is told with all that is wrong", async () => {
  const problems = [{ key: "sink", value: "copy", reason: "keeps no tables", fix: "" }];
  const compare = (answer) => new Run(api([answer]), OPTIONS, () => {}).compare(new AbortController().signal);
  await assert.rejects(compare({ problems }), (error) => error instanceof NotCompared && error.problems === problems);
  await assert.rejects(compare({ trouble: "the database is away" }), { message: "the database is away" });
});

test("a repair waits while the source is busy with the rows before, and looks at what it has sent", async () => {
  const busy = new Refused({ detail: "a snapshot of t is asked for already: wait until it is done" });
  const verified = [{ tables: [{ table: "t" }], ...differing("[1]") }, ...Array(50).fill(differing("[1]"))];
  const { asked, ...stand } = api(verified, [busy, {}]);
  const run = new Run(stand, { ...OPTIONS, waitMs: 100 }, () => {});
  const { signal } = new AbortController();
  await run.compare(signal);
  const { different } = run.found;
  const before = asked.length;
  // From now on nothing differs.
  verified.length = 0;
  await run.repair(repairOf(different, false), signal);
  const order = { signal: "execute-snapshot", arguments: { tables: "t", condition: "(id = (1))" } };
  assert.deepEqual(asked.slice(before).filter(([path]) => path === "v1/connectors/shop:signal").map(([, body]) => body), [order, order]);
  assert.deepEqual([keysOf(different), run.found.different, run.found.pending, run.found.repaired], [["[1]"], [], [], 1]);
});

test("what is stopped ends at once, and keeps what was found", async () => {
  const run = new Run(api([{ tables: [{ table: "t", rows: "5" }], ...differing("[1]") }]), { ...OPTIONS, waitMs: 1e6 }, ({ step }) => {
    if (step === "SETTLING") queueMicrotask(() => ending.abort());
  });
  const ending = new AbortController();
  await assert.rejects(run.compare(ending.signal), { name: "AbortError" });
  assert.deepEqual([run.found.tables[0].rows, keysOf(run.found.pending)], [5, ["[1]"]]);
});

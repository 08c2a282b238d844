// What the console makes of the answers of the API. Run by test_model.py: `node --test`.
import assert from "node:assert/strict";
import { test } from "node:test";

import { differences, isOfForm, lagOf, rateOf, rowsOf, sinceOf, stateOf, topicsOf } from "../../console/src/model/connectors.ts";

const connector = (name, type, config) => ({ name, uid: `uid-${name}`, type: `CONNECTOR_TYPE_${type}`, config });
const states = (...all) => new Map(all.map(([name, state, tasks = []]) => [`uid-${name}`, { state: `STATE_${state}`, tasks }]));

test("what is wrong comes first, the worst before the rest, and what is well does not jump", () => {
  const names = ["d", "c", "b", "a", "w", "f", "p"];
  const all = names.map((name) => connector(name, "SINK", {}));
  const order = (known) => rowsOf(all, known).map((row) => row.name).join("");
  assert.equal(
    order(states(["a", "RUNNING"], ["b", "IDLE"], ["c", "STARTING"], ["d", "RUNNING"], ["w", "WAITING"], ["f", "FAILED"], ["p", "PAUSED"])),
    "fwabcdp",
  );
  assert.equal(
    order(states(["a", "IDLE"], ["b", "RUNNING"], ["c", "IDLE"], ["d", "IDLE"], ["w", "WAITING"], ["f", "FAILED"], ["p", "STOPPED"])),
    "fwabcdp",
  );
});

test("the two ends of a topic know each other, whatever spelling and form their configurations have", () => {
  const rows = rowsOf(
    [
      connector("in", "SOURCE", { "connect.topicname": "t" }),
      connector("tables", "SOURCE", { topic: "rest", "topic.prefix": "db." }),
      connector("out", "SINK", { topics: "t, db.orders" }),
      connector("old", "SINK", { "connect.topicnames": "t" }),
      connector("both", "DIRECT", { "source.topic": "t" }),
    ],
    new Map(),
  );
  const row = (name) => rows.find((each) => each.name === name);
  assert.deepEqual(row("in").readers, ["out", "old"]);
  assert.deepEqual(row("tables").readers, ["out"]);
  assert.deepEqual(row("out").writers, ["in", "tables"]);
  assert.deepEqual(row("old").writers, ["in"]);
  assert.deepEqual([row("both").topics, row("both").readers, row("both").writers], [[], [], []]);
});

test("a form of topics takes the names that it can make, and its signs mean themselves", () => {
  assert(isOfForm("kafka-${topic}", "kafka-a.b"));
  assert(!isOfForm("kafka-${topic}", "kafka-"));
  assert(!isOfForm("a.${x}", "aXb"));
  assert(isOfForm("a", "a"));
  assert(!isOfForm("a", "ab"));
  assert.deepEqual(topicsOf("SOURCE", { "topic.template": "redis-${stream}", topic: "t" }), ["t", "redis-${stream}"]);
});

test("a lag is what all tasks say, and not known when one does not say it", () => {
  const sink = (state, ...messages) => ({ task: 0, state: `STATE_${state}`, metrics: { lags: messages.map((each) => ({ messages: each })) } });
  const source = (left) => ({
    task: 0,
    state: "STATE_RUNNING",
    metrics: { sourceRemainingKnown: left !== undefined, sourceRemaining: left, sourceRemainingUnit: "bytes" },
  });
  assert.deepEqual(lagOf([sink("RUNNING", "3", "4"), sink("IDLE", "0")]), { amount: 7, unit: "messages" });
  assert.deepEqual(lagOf([source("1024"), source("1")]), { amount: 1025, unit: "bytes" });
  assert.equal(lagOf([source("1024"), source(undefined)]), null);
  assert.equal(lagOf([sink("FAILED", "3")]), null);
  assert.equal(lagOf([]), null);
});

test("a rate is that of the tasks that measure one", () => {
  assert.equal(rateOf([{ state: "STATE_RUNNING", metrics: { rateOut: 2 } }, { state: "STATE_FAILED", metrics: { rateOut: 9 } }]), 2);
  assert.equal(rateOf([{ state: "STATE_FAILED" }]), null);
});

test("a connector is as it is since the first of the tasks that are like it", () => {
  const tasks = [
    { state: "STATE_RUNNING", since: "2026-01-01T00:00:00Z" },
    { state: "STATE_FAILED", since: "2026-01-03T00:00:00Z" },
    { state: "STATE_FAILED", since: "2026-01-02T00:00:00Z" },
  ];
  assert.equal(sinceOf({ state: "STATE_FAILED", tasks }), "2026-01-02T00:00:00Z");
  assert.equal(sinceOf({ state: "STATE_STOPPED", tasks: [] }, { updateTime: "2026-01-04T00:00:00Z" }), "2026-01-04T00:00:00Z");
  assert.equal(sinceOf({ state: "STATE_UNASSIGNED", tasks: [] }, { updateTime: "2026-01-04T00:00:00Z" }), "");
});

test("a state that this console does not know is shown as not known", () => {
  assert.equal(stateOf({ state: "STATE_DREAMING" }), "UNSPECIFIED");
  assert.equal(rowsOf([connector("a", "SINK", {})], new Map())[0].state, "UNSPECIFIED");
});

test("configurations differ by what was added, taken away and changed", () => {
  assert.deepEqual(differences({ a: "1", b: "2", c: "3" }, { b: "2", c: "4", d: "" }), [
    { key: "a", before: "1", after: undefined },
    { key: "c", before: "3", after: "4" },
    { key: "d", before: undefined, after: "" },
  ]);
});

// What the console makes of the answers of the API. Run by test_model.py: `node --test`.
import assert from "node:assert/strict";
import { test } from "node:test";

import { endOf, mayOrder, whoOf } from "../../console/src/model/caller.ts";
import { differences, isOfForm, lagOf, rateOf, rowsOf, sinceOf, sourcesOf, stateOf, topicsOf } from "../../console/src/model/connectors.ts";
import { areTaken, correctedOf, filterOf, marksOf, ordered, rowsText } from "../../console/src/model/letters.ts";
import { giveAll, meant } from "../../console/src/model/many.ts";
import { lineOf, samplesOf } from "../../console/src/model/samples.ts";
import { bytesOf, messagesOf, optionsOf, placeOf, readingOf, startOf, usesOf, withMore } from "../../console/src/model/topics.ts";
import { idOf, stepsOf, topicOf } from "../../console/src/model/traces.ts";
import { corrected, cut, editable, fromBase64, hexDump, pretty, same, tabulate, textOf, toBase64 } from "../../console/src/model/values.ts";

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
  assert.deepEqual(topicsOf("SOURCE", { topic: "shop", "table.topic": "${topic}-${table}" }), ["shop", "shop-${table}"]);
  assert.deepEqual(topicsOf("SOURCE", { topic: "shop", "table.topic": "${topic}" }), ["shop"]);
  const byDefault = { "connector.class": "mysql_cdc_source", topic: "shop" };
  assert.deepEqual(topicsOf("SOURCE", byDefault), ["shop", "shop-${schema}-${table}"]);
});

test("a source of tables is the writer of the sinks of their topics, and what they are compared with", () => {
  const all = [
    connector("earlier", "SOURCE", { topic: "lines" }),
    connector("items-in", "SOURCE", { topic: "items", "table.topic": "${topic}-${table}" }),
    connector("items-out", "SINK", { topics: "items-item" }),
  ];
  const rows = rowsOf(all, new Map());
  assert.deepEqual(sourcesOf(rows.find((row) => row.name === "items-out"), rows), ["items-in"]);
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

test("JSON gets lines, and its numbers, keys and texts stay as they are written", () => {
  const text = '{"a":12345678901234567890,"a":[1.50,{}],"t":"x\\"}{,","e":[]}';
  assert.equal(pretty(text), '{\n  "a": 12345678901234567890,\n  "a": [\n    1.50,\n    {}\n  ],\n  "t": "x\\"}{,",\n  "e": []\n}');
  assert.equal(pretty("{]"), null);
  assert.equal(pretty("[".repeat(20_000) + "]".repeat(20_000)), null);
  assert.equal(pretty("[".repeat(50) + "]".repeat(50)).length > 100, true);
  assert.equal(pretty('"a"'), '"a"');
});

test("JSON objects become rows of one table, each value as it is written", () => {
  assert.deepEqual(tabulate(['{"id":9007199254740993,"n":{"x":[1, 2]}}', '{"id":2,"t":"a,b"}']), {
    columns: ["id", "n", "t"],
    rows: [["9007199254740993", '{"x":[1,2]}', undefined], ["2", undefined, "a,b"]],
  });
  assert.equal(tabulate(['{"id":1}', "[1]"]), null);
  assert.equal(tabulate([]), null);
  assert.deepEqual(tabulate(["{}"]), { columns: [], rows: [[]] });
});

test("a value is corrected in the form that changes nothing but what people change", () => {
  const bytes = (text) => new TextEncoder().encode(text);
  for (const text of ["", "a\nb", "a\r\nb\r\n", "\u00fc\u4e2d\ud83d\ude00"]) {
    const { form, text: shown } = editable(bytes(text));
    assert.equal(form, "text");
    assert(!shown.includes("\r"));
    assert(same(corrected(form, shown, bytes(text)), bytes(text)), text);
  }
  for (const content of [bytes("a\r\nb\nc"), bytes("a\rb"), bytes("\ufeffa"), bytes("a\u0000"), Uint8Array.from([0xff, 0xfe, 0])]) {
    const { form, text: shown } = editable(content);
    assert.equal(form, "hex");
    assert(same(corrected(form, shown, content), content));
  }
  assert.equal(editable(new Uint8Array(300_000).fill(97)).form, "file");
  assert.equal(editable(new Uint8Array(5000)).form, "file");
  assert.equal(corrected("hex", "61 6g", bytes("")), 4);
  assert.equal(corrected("hex", "61 6", bytes("")), 4);
});

test("bytes pass base64 and hex whole, and what is long is cut between characters", () => {
  const all = Uint8Array.from({ length: 70_000 }, (_, index) => index % 256);
  assert(same(fromBase64(toBase64(all)), all));
  assert.equal(textOf(Uint8Array.from([0xc3])), null);
  assert.equal(hexDump(new TextEncoder().encode("A\u0000"), 16), `00000000  41 00${" ".repeat(42)}  A.`);
  assert.equal(hexDump(all, 32).split("\n").length, 2);
  assert.equal(cut("a\ud83d\ude00", 2), "a");
  assert.equal(cut("ab", 2), "ab");
});

test("a dead letter is corrected as its rows, as its source reads it, or as the body of its message", () => {
  const poll = { stage: "STAGE_POLL" };
  assert.equal(correctedOf({ deadLetter: poll, notes: { "source.partition": "f" } }), "record");
  assert.equal(correctedOf({ deadLetter: { ...poll, edition: "b:0:1" }, notes: { "source.partition": "f" } }), "body");
  assert.equal(correctedOf({ deadLetter: poll, notes: {} }), "body");
  const rows = [{ value: '{"a":1}' }, { value: "null" }];
  assert.equal(correctedOf({ packed: { rows, count: 2 } }), "rows");
  assert.equal(rowsText({ packed: { rows, count: 2 } }), '[{"a":1},null]');
  assert.equal(rowsText({ packed: { rows: rows.slice(0, 1), count: 1 } }), '{"a":1}');
  assert.equal(rowsText({ packed: { rows, count: 3 } }), null);
  assert.equal(rowsText({ packed: { rows: [{ value: "", problem: "NaN" }], count: 1 } }), null);
});

test("an order is about the letters that were chosen, or about all that the list is asked for", () => {
  const filter = filterOf(new URLSearchParams("hours=1&stage=POLL&error=E&page=2"), Date.parse("2026-01-01T01:00:00Z"));
  assert.deepEqual(filter, { since: "2026-01-01T00:00:00.000Z", stage: "STAGE_POLL", error: "E" });
  assert.deepEqual(filterOf(new URLSearchParams("stage=DREAM&hours=x"), 0), {});
  assert.deepEqual(ordered({ ids: ["a"], filter }), { ids: ["a"] });
  assert.deepEqual(ordered({ ids: [], filter: { error: "E" } }), { all: true, error: "E" });
});

test("a letter says what was done with it, and a cut one that was edited is whole", () => {
  assert.deepEqual(marksOf({ cut: true, replayedTime: "t", copyOf: "" }), ["replayed", "cut"]);
  assert.deepEqual(marksOf({ cut: true, edition: "e" }), ["edited"]);
});

test("letters are taken when the sink has come to the ends of all queues through which they went", () => {
  const positions = [{ partition: "r/b/0", offset: "[17]" }, { partition: "r/b/1", offset: "3" }];
  assert(areTaken({ "r/b/0": "17", "r/b/1": "3" }, positions));
  assert(!areTaken({ "r/b/0": "18" }, positions));
  assert(!areTaken({ "r/b/2": "0" }, positions));
});

test("a topic says how much is in it, who writes it, and what its readers have left of it", () => {
  assert.equal(messagesOf({ queues: [{ earliest: "2", latest: "10" }, { earliest: "0", latest: "1" }, {}] }), 9);
  const all = [
    connector("in", "SOURCE", { topic: "t" }),
    connector("tables", "SOURCE", { "topic.prefix": "db." }),
    connector("out", "SINK", { topics: "t,tt" }),
    connector("new", "SINK", { topics: "t", "errors.deadletterqueue.topic.name": "dead" }),
    connector("both", "DIRECT", {}),
  ];
  const lags = [{ queue: "t/b/0", messages: "3" }, { queue: "t/b/1", messages: "4" }, { queue: "tt/b/0", messages: "5" }];
  const known = states(["out", "RUNNING", [{ metrics: { lags: lags.slice(0, 1) } }, { metrics: { lags: lags.slice(1) } }]]);
  assert.deepEqual(usesOf("t", all, known), {
    writers: ["in"],
    readers: [{ connector: "out", lag: 7 }, { connector: "new", lag: null }],
    letters: [],
  });
  assert.deepEqual(usesOf("db.orders", all, known), { writers: ["tables"], readers: [], letters: [] });
  assert.deepEqual(usesOf("dead", all, known), { writers: [], readers: [], letters: ["new"] });
});

test("messages are read as a connector reads them, and with options that people give", () => {
  const config = { topics: "t", "value.converter": "json", "value.converter.schemas.enable": "false", "rocketmq.access.key": "a", url: "u" };
  assert.deepEqual(readingOf(config), { "value.converter": "json", "value.converter.schemas.enable": "false", "rocketmq.access.key": "a" });
  assert.deepEqual(optionsOf(" a = b=c \n\n# no\nd="), { a: "b=c", d: "" });
  assert.equal(optionsOf("a=b\n=c"), "=c");
});

test("messages are looked at from the place that was chosen", () => {
  assert.deepEqual(startOf("last", "7"), {});
  assert.deepEqual(startOf("first", ""), { offset: "0" });
  assert.deepEqual(startOf("offset", "7"), { offset: "7" });
  assert.deepEqual(startOf("offset", "7x"), {});
  assert.deepEqual(startOf("since", "2026-01-01T00:00:00Z"), { since: "2026-01-01T00:00:00.000Z" });
  assert.deepEqual(startOf("since", ""), {});
  assert.deepEqual(startOf("key", " order 1 "), { key: "order 1" });
  assert.deepEqual(startOf("key", " "), {});
});

test("while it follows the newest messages are kept, and it goes on where the newer answer ended", () => {
  const record = (offset) => ({ queue: "t/b/0", offset });
  const before = { records: [record("1"), record("2")], next: { offsets: { "t/b/0": "3" } }, trouble: "" };
  const more = { records: [record("3"), record("4")], next: { offsets: { "t/b/0": "5" } } };
  assert.deepEqual(withMore(before, more, 3), { records: [record("2"), record("3"), record("4")], next: more.next });
  assert.deepEqual(withMore(before, { next: more.next }, 3), { records: before.records, next: more.next });
});

test("a look that saw nothing for its trouble is followed by one from the same places", () => {
  const before = { records: [{ queue: "t/b/0", offset: "1" }], next: { offsets: { "t/b/0": "2" } } };
  assert.deepEqual(withMore(before, { next: {}, trouble: "no broker" }, 3), { ...before, trouble: "no broker" });
  assert.deepEqual(withMore(before, { trouble: "no broker" }, 3), { ...before, trouble: "no broker" });
});

test("a value that is no text is told as base64, and text that looks like it stays text", () => {
  assert.deepEqual([...bytesOf("/wA=", 2)], [255, 0]);
  assert.equal(textOf(bytesOf("abcd", 4)), "abcd");
  assert.equal(textOf(bytesOf("not base64", 3)), "not base64");
});

test("a message is named by its queue and offset, and a row of a packed one by its number too", () => {
  assert.equal(placeOf({ queue: "t/b/0", offset: "7" }), "b/0 : 7");
  assert.equal(placeOf({ queue: "t/b/0", offset: "7", rows: 2, row: 1 }), "b/0 : 7 / 1");
});

test("samples of an hour have what is known, and errors add up", () => {
  const told = [
    { time: "2026-01-01T00:00:00Z", rateOut: 3.5, lag: 7, errors: "2" },
    { time: "2026-01-01T00:00:10Z", errors: "0", batchSeconds: 0.5, latencySeconds: 1.5, freshnessSeconds: 3 },
    { time: "2026-01-01T00:00:20Z", rateOut: 0, errors: "3" },
  ];
  const begin = Date.parse("2026-01-01T00:00:00Z");
  assert.deepEqual(samplesOf(told), [
    { time: begin, rate: 3.5, lag: 7, errors: 2, batch: null, latency: null, freshness: null },
    { time: begin + 10_000, rate: null, lag: null, errors: 2, batch: 0.5, latency: 1.5, freshness: 3 },
    { time: begin + 20_000, rate: 0, lag: null, errors: 5, batch: null, latency: null, freshness: null },
  ]);
});

test("a line goes over all the time that was seen, from 0 up, and is broken where nothing is known", () => {
  const all = [
    { time: 0, rate: 0, lag: null, errors: 0 },
    { time: 100, rate: 10, lag: null, errors: 0 },
    { time: 150, rate: null, lag: null, errors: 0 },
    { time: 200, rate: 5, lag: null, errors: 0 },
  ];
  assert.deepEqual(lineOf(all, "rate", 100, 50, 200), { points: ["0,50 50,0", "100,25 100,25"], least: 0, most: 10, now: 5 });
  assert.equal(lineOf(all, "lag", 100, 50, 200), null);
  assert.deepEqual(lineOf(all, "errors", 100, 50, 200)?.points, ["0,50 50,50 75,50 100,50 100,50"]);
});

test("the page says who one is, what one may do, and that a token ends", () => {
  const now = Date.parse("2026-12-31T12:00:00Z");
  const guest = { name: "guest", role: "ROLE_READ", methods: ["rocketconnect.topic.v1.TopicService/PeekTopic"], expireTime: "2026-12-31T13:00:00Z" };
  assert.deepEqual(whoOf(guest), { name: "guest", role: "READ", ends: now + 3_600_000 });
  assert.equal(mayOrder(guest), false);
  assert.equal(mayOrder({ ...guest, methods: ["rocketconnect.config.v1.ConfigService/CreateConnector"] }), true);
  assert.equal(whoOf({ name: "", role: "ROLE_UNSPECIFIED", methods: [] }), undefined);
  assert.deepEqual(whoOf({ name: "alice", role: "ROLE_WRITE" }), { name: "alice", role: "WRITE" });
  const ends = (left) => endOf({ name: "guest", role: "READ", ends: now + left }, now);
  assert.deepEqual([90_000_000, 3_600_000, 60_000, -1].map(ends), ["far", "day", "soon", "soon"]);
  assert.equal(endOf({ name: "alice", role: "WRITE" }, now), "far");
});

test("a message has its trace as steps in their order, with when and where it is stored", () => {
  const record = { queue: "orders/broker-0/3", offset: "17", storeTime: "2026-01-31T10:00:00.060Z", properties: { UNIQ_KEY: "FD00" } };
  assert.deepEqual([idOf(record), topicOf(record), idOf({ properties: {} })], ["FD00", "orders", ""]);
  const steps = [
    { kind: "TRACE_STEP_KIND_CONSUMED", group: "billing", clientHost: "10.0.0.2", time: "2026-01-31T10:00:01Z", took: "0.006s", result: "failed", retries: 1 },
    { kind: "TRACE_STEP_KIND_SENT", group: "shop", clientHost: "10.0.0.1", time: "2026-01-31T10:00:00.060Z", took: "1.5s", result: "success" },
    { kind: "TRACE_STEP_KIND_NEW", time: "2026-01-31T10:00:02Z" },
  ];
  const stored = { queue: "orders/broker-0/3", offset: "17", storeTime: "2026-01-31T10:00:00.060Z", storeHost: "10.0.0.9:10911" };
  const traced = { messages: [{ messageId: "other", steps: [{}] }, { messageId: "FD00", stored, steps }] };
  assert.deepEqual(
    stepsOf(record, traced).map((each) => [each.kind, each.who, each.where, each.milliseconds, each.result, each.retries]),
    [
      ["SENT", "shop", "10.0.0.1", 1500, "success", 0],
      ["STORED", "", "10.0.0.9:10911, orders/broker-0/3 17", null, "", 0],
      ["CONSUMED", "billing", "10.0.0.2", 6, "failed", 1],
      ["UNSPECIFIED", "", "", null, "", 0],
    ],
  );
  assert.deepEqual(
    stepsOf(record, { messages: [] }).map((each) => [each.kind, each.time, each.where]),
    [["STORED", record.storeTime, "orders/broker-0/3 17"]],
  );
});

test("what is masked while a topic is followed stays named", () => {
  const before = { records: [{ queue: "t/b/0" }], masked: ["key"] };
  assert.deepEqual(withMore(before, { records: [], masked: ["email"] }, 3).masked, ["email", "key"]);
});

test("an order to many is for those for which it changes something, and a refusal of one keeps nobody else from it", async () => {
  const row = (name, wanted) => ({ name, wanted });
  const chosen = [row("a", "RUNNING"), row("b", "PAUSED"), row("c", "STOPPED")];
  assert.deepEqual(meant("pause", chosen), { about: ["a"], already: ["b", "c"] });
  assert.deepEqual(meant("resume", chosen), { about: ["b", "c"], already: ["a"] });
  assert.deepEqual(meant("restart", chosen), { about: ["a", "b", "c"], already: [] });
  const names = Array.from({ length: 11 }, (_, index) => `n${index}`);
  const results = new Map();
  let [now, most] = [0, 0];
  await giveAll(
    names,
    async (name) => {
      most = Math.max(most, ++now);
      await new Promise((done) => setTimeout(done, 1));
      now -= 1;
      if (name === "n3") throw new Error("refused");
    },
    (name, error) => results.set(name, error?.message),
  );
  assert.deepEqual([...results.keys()].sort(), [...names].sort());
  assert.deepEqual([...results].filter(([, error]) => error), [["n3", "refused"]]);
  assert.equal(most, 4);
});

// What the console makes of what somebody types into a form. Run by test_model.py: `node --test`.
import assert from "node:assert/strict";
import { test } from "node:test";

import { asJson, asYaml, readJson } from "../../console/src/model/documents.ts";
import {
  choosable,
  fits,
  isFirst,
  literals,
  otherKeys,
  sectionsOf,
  valueOf,
  withValue,
} from "../../console/src/model/form.ts";
import { merged } from "../../console/src/model/merge.ts";
import { directionOf, endOf, orderOf } from "../../console/src/model/moving.ts";
import { linesOf } from "../../console/src/model/preview.ts";
import { placed, sentence } from "../../console/src/model/problems.ts";

const plugin = (type, name, options = [], more = {}) => ({ type: `PLUGIN_TYPE_${type}`, name, options, ...more });
const option = (key, more = {}) => ({ key, type: "string", ...more });
const PLUGINS = [
  plugin(
    "SOURCE",
    "db_source",
    [
      option("url", { required: true }),
      option("password", { secret: true }),
      option("connector.class", { group: "common", required: true }),
      option("transforms", { group: "common", type: "list" }),
      option("topic", { group: "source", required: true, aliases: ["connect.topicname"] }),
      option("value.converter", { group: "converters", defaultValue: "json" }),
    ],
    { aliases: ["DbSource"], summary: "Reads tables." },
  ),
  plugin("SINK", "bus_sink", [
    option("targets", { type: "list" }),
    option("targets.NAME.url", { required: true, aliases: ["targets.NAME.uri"] }),
  ]),
  plugin("DIRECT", "direct", [option("source.connector.class", { required: true, example: "db_source" })]),
  plugin("CONVERTER", "json", [option("schemas.enable", { type: "bool" })]),
  plugin("CONVERTER", "avro", [option("schema.registry.url", { required: true })]),
  plugin("TRANSFORM", "cast", [
    option("spec", { required: true }),
    option("type", { group: "common", required: true, aliases: ["class"] }),
  ]),
  plugin("TRANSFORM", "drop", [option("type", { group: "common", required: true, aliases: ["class"] })]),
];
const keys = (config) => sectionsOf(PLUGINS, config).map((each) => [each.id, ...each.fields.map((field) => field.key)]);
const field = (config, key) =>
  sectionsOf(PLUGINS, config)
    .flatMap((each) => each.fields)
    .find((each) => each.key === key);

test("a form has the options of its plugin by whose they are, and those of what these name", () => {
  assert.deepEqual(keys({ "connector.class": "DbSource" }), [
    ["own", "url", "password"],
    ["source", "topic"],
    ["converters", "value.converter"],
    ["value.converter.", "value.converter.schemas.enable"],
    ["common", "transforms"],
  ]);
  const config = {
    "connector.class": "db_source",
    "value.converter": "avro",
    transforms: "a, b,a",
    "transforms.a.class": "cast",
  };
  assert.deepEqual(keys(config).slice(3), [
    ["value.converter.", "value.converter.schema.registry.url"],
    ["common", "transforms"],
    ["transforms.a.", "transforms.a.type", "transforms.a.spec"],
    ["transforms.b.", "transforms.b.type"],
  ]);
  assert.deepEqual(field(config, "transforms.b.type").choices, ["cast", "drop"]);
  assert.deepEqual(keys({ "connector.class": "nobody" }), []);
});

test("a list of names has the options of each name, and a direct connector those of its half", () => {
  assert.deepEqual(keys({ "connector.class": "bus_sink", targets: "x,y" }), [
    ["own", "targets", "targets.x.url", "targets.y.url"],
  ]);
  assert.deepEqual(keys({ "connector.class": "direct", "source.connector.class": "db_source" }), [
    ["own", "source.connector.class"],
    ["source.", "source.url", "source.password"],
  ]);
});

test("what is needed, what a first configuration has and what is given stands first", () => {
  const config = { "connector.class": "db_source" };
  const first = (key, base) => isFirst(field(config, key), base);
  assert.deepEqual(
    ["url", "topic", "password", "transforms"].map((key) => first(key, {})),
    [true, true, false, false],
  );
  assert(first("transforms", { transforms: "" }));
  assert(isFirst(field({ "connector.class": "direct" }, "source.connector.class"), {}));
});

test("a value stays under the key that it was given by, and all else as it is", () => {
  const config = { "connector.class": "db_source", "connect.topicname": "t", url: "u" };
  const topic = field(config, "topic");
  assert.equal(valueOf(config, topic), "t");
  assert.deepEqual(Object.entries(withValue(config, topic, "new")), [
    ["connector.class", "db_source"],
    ["connect.topicname", "new"],
    ["url", "u"],
  ]);
  assert.deepEqual(withValue(config, topic, ""), { "connector.class": "db_source", url: "u" });
  assert.deepEqual(withValue({}, topic, "t"), { topic: "t" });
});

test("names that objects have by themselves are options as any other", () => {
  const config = { "connector.class": "db_source", ...readJson('{"constructor": "1", "__proto__": "2"}').config };
  assert.deepEqual(otherKeys(config, sectionsOf(PLUGINS, config)), ["constructor", "__proto__"]);
  assert.equal(valueOf(config, { key: "toString", aliases: [], option: {}, choices: [] }), "");
});

test("a problem stands at its option by whichever key it is told, else on top", () => {
  const config = { "connector.class": "db_source", topic: "?", nonsense: "1" };
  const told = (key) => ({ key, reason: `of ${key}` });
  const { at, others } = placed(
    ["connect.topicname", "topic", "nonsense", "", "name", "url"].map(told),
    sectionsOf(PLUGINS, config),
    config,
  );
  assert.deepEqual(
    [...at].map(([key, found]) => [key, found.length]),
    [
      ["topic", 2],
      ["nonsense", 1],
      ["url", 1],
    ],
  );
  assert.deepEqual(
    others.map((each) => each.key),
    ["", "name"],
  );
  assert.equal(sentence({ reason: "is not a port", fix: "Give a number" }), "Is not a port. Give a number.");
});

test("a secret itself is seen, and a reference is none", () => {
  const secret = (password) =>
    literals({ "connector.class": "db_source", password }, sectionsOf(PLUGINS, { "connector.class": "db_source" }));
  assert.deepEqual(secret("hunter2"), ["password"]);
  assert.deepEqual(secret("${hunter2"), ["password"]);
  for (const reference of ["${keystore:db.password}", "${env:DB}", "${file:/run/secrets/db:password}", ""])
    assert.deepEqual(secret(reference), []);
});

test("options and systems are found by words of their names and of what they do", () => {
  const url = field({ "connector.class": "db_source" }, "topic");
  assert(fits(url, "TOPICNAME") && fits(url, "topic connect") && !fits(url, "topic table"));
  assert.deepEqual(
    choosable(PLUGINS, "", "").map((each) => each.name),
    ["bus_sink", "db_source", "direct"],
  );
  assert.deepEqual(
    choosable(PLUGINS, "SOURCE", "tables db").map((each) => each.name),
    ["db_source"],
  );
  assert.deepEqual(choosable(PLUGINS, "SINK", "tables"), []);
});

test("JSON that is written by hand comes back as it was meant, or says what is wrong with it", () => {
  const config = { a: "1", b: 'x\n"y"' };
  assert.deepEqual(readJson(asJson(config)), { config });
  assert.deepEqual(readJson('{"name": "in", "config": {"max.tasks": 3, "follow": true}}'), {
    name: "in",
    config: { "max.tasks": "3", follow: "true" },
  });
  assert.equal(readJson("{").wrong, "json");
  assert.equal(readJson("[]").wrong, "object");
  assert.deepEqual(readJson('{"a": "1", "b": {}}'), { wrong: "value", at: "b" });
  assert.deepEqual(readJson('{"a": 12345678901234567890}'), { wrong: "value", at: "a" });
  assert.deepEqual(readJson('{"a": null}'), { wrong: "value", at: "a" });
});

test("YAML for apply has the plugin first and each value as it is written", () => {
  const config = {
    filename: "/tmp/a.txt",
    "connector.class": "file_source",
    "csv.null": "",
    note: "a: b #c",
    n: "null",
    e: "\u2028",
    t: "0777",
  };
  assert.equal(
    asYaml("in", config),
    [
      "name: in",
      "config:",
      "  connector.class: file_source",
      "  filename: /tmp/a.txt",
      '  csv.null: ""',
      '  note: "a: b #c"',
      '  n: "null"',
      '  e: "\\u2028"',
      "  t: 0777",
      "",
    ].join("\n"),
  );
  assert.equal(asYaml("in", {}), "name: in\nconfig: {}\n");
});

test("of two people's changes each key is as the one has it who changed it, and what both changed is told", () => {
  const base = { a: "1", b: "1", c: "1", d: "1", e: "1" };
  const mine = { a: "2", b: "1", c: "2", e: "1", f: "1" };
  const theirs = { a: "1", b: "2", c: "3", d: "2" };
  assert.deepEqual(merged(base, mine, theirs), { config: { a: "2", b: "2", c: "2", f: "1" }, both: ["c", "d"] });
  assert.deepEqual(merged(base, base, theirs), { config: theirs, both: [] });
  assert.deepEqual(merged(base, { ...base, a: "9" }, { ...base, a: "9" }).both, []);
});

test("positions are moved to what somebody has chosen, and offsets that are none are told", () => {
  const chosen = { way: "EARLIEST", time: "", offsets: {}, partitions: [] };
  assert.deepEqual(orderOf({ ...chosen, partitions: ["q"] }), {
    verb: "alter",
    body: { to: "EDGE_EARLIEST", partitions: ["q"] },
  });
  assert.deepEqual(orderOf({ ...chosen, way: "RESET" }), { verb: "reset", body: {} });
  assert.deepEqual(
    orderOf({ ...chosen, way: "TIME", time: "2026-01-31T10:00:00Z" }).body.toTime,
    "2026-01-31T10:00:00.000Z",
  );
  assert.deepEqual(orderOf({ ...chosen, way: "TIME" }), { wrong: [] });
  const offsets = (given) => orderOf({ ...chosen, way: "OFFSETS", offsets: given });
  assert.deepEqual(offsets({ a: " 17 ", b: "[1, 2]", c: "" }).body.positions, [
    { partition: "a", offset: "[17]" },
    { partition: "b", offset: "[1, 2]" },
  ]);
  assert.deepEqual(offsets({ a: "x", b: "17", c: "[1" }), { wrong: ["a", "c"] });
  assert.deepEqual(offsets({ a: " " }), { wrong: [] });
});

test("what follows from a move is told by its numbers, however long they are", () => {
  assert.equal(directionOf("[9007199254740993]", "[9007199254740992]"), "back");
  assert.equal(directionOf("[2,9]", "[10,1]"), "forward");
  assert.equal(directionOf("[3,4]", "[3,2]"), "back");
  assert.equal(directionOf("[3,4]", "[3, 4]"), "same");
  assert.equal(directionOf("[3]", ""), "anew");
  assert.equal(directionOf("", "[3]"), "begins");
});

test("a revision that never ran ended where the one before it did", () => {
  const snapshots = [
    { revision: "4", nextRevision: "6" },
    { revision: "1", nextRevision: "4" },
  ];
  assert.equal(endOf(snapshots, 5), snapshots[0]);
  assert.equal(endOf(snapshots, 3), snapshots[1]);
  assert.equal(endOf(snapshots, 6), undefined);
});

test("a step shows its value with types, and of the rest what is new", () => {
  const schema = JSON.stringify({ type: "struct", fields: [{ field: "id", type: "int64" }] });
  const before = {
    hasValue: true,
    value: "one",
    schema: '{"type": "string"}',
    topic: "t",
    hasKey: true,
    key: "k",
    headers: {},
  };
  assert.deepEqual(linesOf(before, undefined), ["one  : string", "[topic] t", "[key] k"]);
  const after = { ...before, value: '{"id": 7}', schema, headers: { a: "b" } };
  assert.deepEqual(linesOf(after, before), ["id = 7  : int64", '[headers] {"a":"b"}']);
  assert.deepEqual(linesOf({ ...before, hasValue: false, hasKey: false }, before), ["∅", "[key] "]);
});

test("keys that every object of JavaScript has are keys like others", () => {
  const written = readJson('{"__proto__": "x", "constructor": "y"}').config;
  assert.deepEqual(Object.entries(merged({}, written, {}).config), Object.entries(written));
  assert.deepEqual(Object.entries(merged(written, {}, written).config), []);
  const plugins = [{ name: "P", type: "PLUGIN_TYPE_SOURCE", options: [{ key: "constructor", defaultValue: "a,b" }] }];
  assert.deepEqual(sectionsOf(plugins, { "connector.class": "P" }).map((each) => each.id), ["own"]);
});

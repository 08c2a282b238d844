// What the console keeps in the browser, and what it takes of that. Run by test_model.py: `node --test`.
import assert from "node:assert/strict";
import { test } from "node:test";

import { keptText, readKept } from "../../console/src/model/drafts.ts";
import { filtersOf, MOST_OF_TOPIC, queryOf, readFilters, withFilter, withoutFilter } from "../../console/src/model/filters.ts";
import { sectionsOf } from "../../console/src/model/form.ts";

const PLUGINS = [
  {
    type: "PLUGIN_TYPE_SOURCE",
    name: "db_source",
    options: [
      { key: "url", type: "string" },
      { key: "password", type: "string", secret: true, aliases: ["connect.pw"] },
      { key: "key.file", type: "string" },
    ],
  },
];
const draftOf = (config, more = {}) => ({
  ...{ name: "in", reason: "why", wanted: "PAUSED", adopt: "", typed: '{"half' },
  config: { "connector.class": "db_source", ...config },
  ...more,
});
const keptOf = (draft) => keptText(draft, sectionsOf(PLUGINS, draft.config));

test("a draft outlives a reload as it was, references to secrets among it, but text that is no JSON yet", () => {
  const base = { name: "in", uid: "u", revision: "3", config: { "connector.class": "db_source" } };
  const draft = draftOf({ url: "jdbc:x://h:3306/db", password: "${env:PW}", "key.file": "/k", "other.key": "1" }, { base });
  assert.deepEqual(readKept(keptOf(draft)), { draft: { ...draft, typed: null }, left: [] });
});

test("what is a secret, or may be one, is not kept, and named", () => {
  const secrets = { password: "hunter2", "connect.pw": "hunter3", "api.key": "hunter4", psw: "hunter5", my_passwd: "hunter6" };
  const login = { url: "amqp://user:hunter7@host/${env:VHOST}", uri: "amqp://user:${env:PW}@host" };
  const text = keptOf(draftOf({ ...secrets, ...login, topic: "t" }));
  assert.deepEqual(/hunter[^5]/.exec(text), null);
  const { draft, left } = readKept(text);
  assert.deepEqual(left, ["password", "api.key", "my_passwd", "url"]);
  assert.deepEqual(draft.config, { "connector.class": "db_source", psw: "hunter5", uri: login.uri, topic: "t" });
});

test("what was kept and is no draft, or is too long for one, is not used", () => {
  const good = JSON.parse(keptOf(draftOf({})));
  for (const wrong of [{ config: null }, { config: { a: 1 } }, { config: [] }, { wanted: "GONE" }, { name: 1 }, { base: {} }])
    assert.equal(readKept(JSON.stringify({ ...good, draft: { ...good.draft, ...wrong } })), null, JSON.stringify(wrong));
  for (const wrong of [null, "", "{", "[]", "null", '"a"', "{}"]) assert.equal(readKept(wrong), null, wrong);
  assert.equal(keptOf(draftOf({ sql: "x".repeat(300_000) })), null);
});

const filter = (name, query = { start: "first", amount: "10" }, topic = "orders") => ({ topic, name, query });

test("a filter is kept by its name, of each topic so many, and the newest of a name counts", () => {
  let all = withFilter([filter("all", {}, "other")], filter("b"));
  all = withFilter(all, filter("a"));
  all = withFilter(all, filter("b", { start: "key", at: "7" }));
  assert.deepEqual(filtersOf(all, "orders"), [filter("a"), filter("b", { start: "key", at: "7" })]);
  assert.deepEqual(readFilters(JSON.stringify(all)), all);
  assert.deepEqual(filtersOf(withoutFilter(all, "orders", "a"), "orders").map((each) => each.name), ["b"]);
  for (let more = 2; more < MOST_OF_TOPIC; more += 1) all = withFilter(all, filter(`more-${more}`));
  assert.equal(withFilter(all, filter("one too many")), null);
  assert.notEqual(withFilter(all, filter("a", {})), null);
  assert.notEqual(withFilter(all, filter("one", {}, "third")), null);
  assert.equal(withFilter([], filter("x".repeat(61))), null);
});

test("of what was kept only filters are taken", () => {
  const wrong = [null, 1, {}, filter(""), filter("a", { script: "x" }), filter("a", { at: 7 }), filter("a", null), filter("a", { at: "x".repeat(3000) })];
  assert.deepEqual(readFilters(JSON.stringify([...wrong, filter("good")])), [filter("good")]);
  for (const text of [null, "", "{", "{}", '"a"']) assert.deepEqual(readFilters(text), []);
  assert.deepEqual(queryOf({ start: "last", at: "", find: "7", other: "x" }), { start: "last", find: "7" });
});

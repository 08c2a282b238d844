// Somebody creates a connector by the form, changes it while another one does, and rolls it back: `node journey.mjs PORT URL
// FILE`, with the port of the browser's own protocol, where the gateway is, and a file to read. Ends with 0, or says what is missing.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

const [port, url, file] = process.argv.slice(2);
const MOST_MS = 60_000;

const page = await (await fetch(`http://127.0.0.1:${port}/json/new?about:blank`, { method: "PUT" })).json();
const socket = new WebSocket(page.webSocketDebuggerUrl);
await new Promise((resolve) => socket.addEventListener("open", resolve));
const answers = new Map();
socket.addEventListener("message", ({ data }) => {
  const answer = JSON.parse(data);
  answers.get(answer.id)?.(answer);
});
let last = 0;

async function tell(method, params = {}) {
  last += 1;
  const answer = new Promise((resolve) => answers.set(last, resolve));
  socket.send(JSON.stringify({ id: last, method, params }));
  const { result, error } = await answer;
  assert.equal(error, undefined, `${method}: ${error?.message}`);
  return result;
}

async function value(expression) {
  const { result, exceptionDetails } = await tell("Runtime.evaluate", { expression, returnByValue: true });
  assert.equal(exceptionDetails, undefined, `${expression}: ${exceptionDetails?.exception?.description}`);
  return result.value;
}

async function until(expression) {
  for (const end = Date.now() + MOST_MS; Date.now() < end; await sleep(50)) if (await value(expression)) return;
  assert.fail(`${expression} did not come; there is:\n${await value("document.body.innerText")}`);
}

const one = (selector) => `document.querySelector(${JSON.stringify(selector)})`;
const option = (key) => `[id="option-${key}"]`;

async function open(hash) {
  await value(`location.hash = ${JSON.stringify(hash)}`);
}

async function type(selector, text) {
  await until(`${one(selector)} && !${one(selector)}.disabled`);
  // What is folded takes no focus.
  await value(`(${one(selector)}.closest("details") ?? {}).open = true`);
  await value(`${one(selector)}.focus(), ${one(selector)}.select()`);
  await tell("Input.insertText", { text });
}

async function press(selector) {
  await until(`${one(selector)} && !${one(selector)}.disabled`);
  await value(`${one(selector)}.click()`);
}

async function stored() {
  return (await (await fetch(`${url}/v1/connectors/in`)).json()).connector;
}

await tell("Page.navigate", { url: `${url}/` });
await until(`${one(".heading button")}`);

await open("#/create");
await until(`${one('a[href="#/create/file_source"]')}`);
await open("#/create/file_source");
await type("#connector-name", "in");
await type(option("filename"), "no/absolute/path");
await until(`${one(`${option("filename")}[aria-invalid=true]`)}`);
assert.match(await value(`${one('[id="option-filename-said"]')}.innerText`), /path/);
await type(option("filename"), file);
await type(option("topic"), "t");
await until(`!${one("[aria-invalid=true]")} && document.body.innerText.includes("No problem was found.")`);
assert.deepEqual(JSON.parse(await value(`${one("#as-json")}.value`)), {
  "connector.class": "file_source",
  filename: file,
  topic: "t",
});
const wanted = { "connector.class": "file_source", filename: file, topic: "other" };
await type("#as-json", JSON.stringify(wanted));
await until(`${one(option("topic"))}.value === "other"`);
await press("form button[type=submit]");
await until(`location.hash === "#/connectors/in"`);
assert.deepEqual((await stored()).config, wanted);

await open("#/change/in");
await type(option("max.tasks"), "2");
const { config, etag } = await stored();
const other = { config: { ...config, "batch.records": "7" }, etag, reason: "theirs" };
const answer = await fetch(`${url}/v1/connectors/in`, {
  method: "PUT",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(other),
});
assert.equal(answer.status, 200);
await until(`${one("section.alert")}?.innerText.includes("theirs")`);
await press("section.alert button");
await until(`!${one("section.alert")}`);
await press("form button[type=submit]");
await until(`${one("dialog[open] table")}`);
assert.deepEqual(await value(`[...document.querySelectorAll("dialog td code")].map((each) => each.innerText)`), [
  "max.tasks",
]);
await press("dialog button[type=submit]");
await until(`location.hash === "#/connectors/in/configuration"`);
assert.deepEqual((await stored()).config, { ...config, "batch.records": "7", "max.tasks": "2" });

await open("#/connectors/in/history");
await press('button[aria-label="Roll back to revision 1"]');
await press("dialog button[type=submit]");
await until(`!${one("dialog")}`);
assert.deepEqual((await stored()).config, config);
assert.equal((await stored()).revision, "4");
socket.close();

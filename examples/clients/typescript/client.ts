// Lists connectors, creates one, watches it until it has moved all records, and deletes it.
// ROCKETCONNECT_ADDRESS=HOST:PORT ROCKETCONNECT_TOKEN=rct_... ROCKETCONNECT_CACERT=ca.pem node built/client.js NAME FILE RECORDS
import { readFileSync } from "node:fs";
import { Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { ConfigService } from "./generated/rocketconnect/config/v1/config_service_pb.js";
import { State } from "./generated/rocketconnect/connector/v1/connector_pb.js";
import { StateService } from "./generated/rocketconnect/state/v1/state_service_pb.js";

const { ROCKETCONNECT_ADDRESS: address, ROCKETCONNECT_TOKEN: token, ROCKETCONNECT_CACERT: authority } = process.env;
const [name, filename, records] = process.argv.slice(2);

// Shows the token with each call.
const shown: Interceptor = (next) => (request) => {
  if (token) request.header.set("authorization", `Bearer ${token}`);
  return next(request);
};
const transport = createGrpcTransport({
  baseUrl: `${authority ? "https" : "http"}://${address}`,
  nodeOptions: authority ? { ca: readFileSync(authority) } : {},
  interceptors: [shown],
});
const configs = createClient(ConfigService, transport);
const states = createClient(StateService, transport);

const { connectors } = await configs.listConnectors({}, { timeoutMs: 20_000 });
console.log(`connectors: ${connectors.length}`);

try {
  await configs.createConnector({ name: "no such name" }, { timeoutMs: 20_000 });
} catch (error) {
  console.log(`refused: ${Code[ConnectError.from(error).code]}`);
}
const config = { "connector.class": "file_source", topic: name, filename };
const { connector } = await configs.createConnector({ name, config }, { timeoutMs: 60_000 });
console.log(`created: ${connector?.name}, revision ${connector?.revision}`);

const stop = new AbortController();
let last = "";
try {
  for await (const { state } of states.watchConnectorState({ connector: name }, { signal: stop.signal, timeoutMs: 180_000 })) {
    const now = State[state?.state ?? State.UNSPECIFIED];
    if (now !== last) console.log(`state: ${now}`);
    last = now;
    const moved = state?.tasks.reduce((sum, task) => sum + (task.metrics?.recordsOut ?? 0n), 0n) ?? 0n;
    if (moved >= BigInt(records)) break;
  }
} finally {
  stop.abort();
}
console.log(`moved: ${records}`);
await configs.deleteConnector({ name }, { timeoutMs: 60_000 });

// Creates a connector over gRPC, watches its state until it has moved all records, deletes it, and prints what it saw as JSON.
// node client.mjs CONFIG_ADDRESS STATE_ADDRESS NAME RECORDS CONFIG_JSON
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { ConfigService } from "./generated/rocketconnect/config/v1/config_service_pb.js";
import { State } from "./generated/rocketconnect/connector/v1/connector_pb.js";
import { StateService } from "./generated/rocketconnect/state/v1/state_service_pb.js";

const [configAddress, stateAddress, name, records, config] = process.argv.slice(2);
const configs = createClient(ConfigService, createGrpcTransport({ baseUrl: `http://${configAddress}` }));
const states = createClient(StateService, createGrpcTransport({ baseUrl: `http://${stateAddress}` }));

let refused = "";
try {
  await configs.createConnector({ name: "no such name", config: {} }, { timeoutMs: 20_000 });
} catch (error) {
  refused = Code[ConnectError.from(error).code];
}

const { connector } = await configs.createConnector({ name, config: JSON.parse(config) }, { timeoutMs: 60_000 });
const seen = [];
let moved = 0n;
const stop = new AbortController();
const limit = setTimeout(() => stop.abort(new Error("not done in time")), 90_000);
try {
  for await (const { state } of states.watchConnectorState({ connector: name }, { signal: stop.signal, timeoutMs: 0 })) {
    const now = State[state.state];
    if (seen.at(-1) !== now) seen.push(now);
    moved = state.tasks.reduce((sum, task) => sum + (task.metrics?.recordsOut ?? 0n), 0n);
    if (moved >= BigInt(records)) break;
  }
} finally {
  clearTimeout(limit);
}
await configs.deleteConnector({ name }, { timeoutMs: 20_000 });
console.log(JSON.stringify({ refused, uid: connector.uid, revision: Number(connector.revision), seen, moved: Number(moved) }));

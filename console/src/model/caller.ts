// Who uses this page, as the gateway tells it. Pure.
import type { Schemas } from "../api/client.ts";

export type Caller = Schemas["access.GetCallerResponse"];
export type Role = "READ" | "WRITE" | "SERVICE";

export interface Who {
  name: string;
  role: Role;
  /** When it is let in no more, in milliseconds since 1970; undefined: no end is known. */
  ends?: number;
}

/** What stands for all that people order: roles have all of it, or nothing. */
const ORDERS = "rocketconnect.config.v1.ConfigService/CreateConnector";
const DAY_MS = 86_400_000;
const SOON_MS = 900_000;

/** Who it is; undefined: the gateway asks nobody. */
export function whoOf(caller: Caller): Who | undefined {
  if (!caller.name) return undefined;
  const role = (caller.role ?? "").replace(/^ROLE_/, "") as Role;
  return { name: caller.name, role, ...(caller.expireTime && { ends: Date.parse(caller.expireTime) }) };
}

export function mayOrder(caller: Caller): boolean {
  return caller.methods?.includes(ORDERS) ?? false;
}

/** Whether somebody is to be told of the end: in passing, or so that it is not missed. */
export function endOf(who: Who, now: number): "far" | "day" | "soon" {
  const left = (who.ends ?? Infinity) - now;
  return left > DAY_MS ? "far" : left > SOON_MS ? "day" : "soon";
}

// Asks the API of the gateway that has served this page: `/v1`, and whether the gateway is well.
import type { components } from "./types.ts";

export type Schemas = components["schemas"];
export type Problem = Schemas["Problem"];

/** The gateway has answered, and not with what was asked for. */
export class Refused extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail);
    this.problem = problem;
  }
}

/** Nobody has answered. Whether what was asked was done is not known. */
export class Away extends Error {}

export interface Asked {
  method?: "GET" | "POST" | "PUT" | "DELETE";
  body?: object;
  signal?: AbortSignal;
}

const TOKEN = "rocketconnect.token";
const READ_MS = 20_000;
const CHANGE_MS = 60_000;
const PAGE_SIZE = "500";

export function token(): string | null {
  return sessionStorage.getItem(TOKEN);
}

/** Keeps it until this tab is closed; null: no more. */
export function keepToken(shown: string | null): void {
  if (shown === null) sessionStorage.removeItem(TOKEN);
  else sessionStorage.setItem(TOKEN, shown);
}

/** A name as one segment of a path. */
export function segment(name: string): string {
  return encodeURIComponent(name).replace(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** The answer to one call; throws Refused or Away, and what `signal` was aborted with. */
export async function ask<T>(path: string, asked: Asked = {}): Promise<T> {
  const limit = AbortSignal.timeout((asked.method ?? "GET") === "GET" ? READ_MS : CHANGE_MS);
  const response = await send(path, { ...asked, signal: asked.signal ? AbortSignal.any([asked.signal, limit]) : limit });
  try {
    return (await response.json()) as T;
  } catch (error) {
    asked.signal?.throwIfAborted();
    throw new Away(String(error));
  }
}

/** All pages of a list. */
export async function askAll<T>(path: string, field: string, signal?: AbortSignal): Promise<T[]> {
  const found: T[] = [];
  let next = "";
  do {
    const query = new URLSearchParams({ pageSize: PAGE_SIZE, ...(next && { pageToken: next }) });
    const page: Record<string, unknown> = await ask(`${path}?${query}`, { signal });
    found.push(...((page[field] as T[] | undefined) ?? []));
    next = (page["nextPageToken"] as string | undefined) ?? "";
  } while (next);
  return found;
}

/** The lines of a stream, until it ends; throws as `ask` does. One that is silent for so long counts as ended. */
export async function* stream<T>(path: string, silentMs: number, signal: AbortSignal): AsyncGenerator<Awaited<T>> {
  const ending = new AbortController();
  const response = await send(path, { signal: AbortSignal.any([signal, ending.signal]) });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (!reader) return;
  let rest = "";
  let timer = 0;
  const wait = () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => ending.abort(), silentMs);
  };
  try {
    for (;;) {
      wait();
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const answer = JSON.parse(line) as Awaited<T> & { error?: Problem };
        if (answer.error) throw new Refused(answer.error);
        yield answer;
      }
    }
  } catch (error) {
    signal.throwIfAborted();
    if (ending.signal.aborted) return;
    throw error instanceof Refused ? error : new Away(String(error));
  } finally {
    clearTimeout(timer);
    ending.abort();
  }
}

async function send(path: string, { method = "GET", body, signal }: Asked): Promise<Response> {
  const shown = token();
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers: { ...(body && { "Content-Type": "application/json" }), ...(shown !== null && { Authorization: `Bearer ${shown}` }) },
      body: body && JSON.stringify(body),
      cache: "no-store",
      redirect: "error",
      signal,
    });
  } catch (error) {
    if (signal?.aborted && (signal.reason as Error).name !== "TimeoutError") throw signal.reason;
    throw new Away(String(error));
  }
  if (response.ok) return response;
  throw new Refused(await problemOf(response));
}

/** What a refusal says; of one that is no problem document, from somebody between, the status. */
async function problemOf(response: Response): Promise<Problem> {
  const status = response.status;
  const bare = { type: "", title: "", detail: `${status} ${response.statusText}`, reason: "", metadata: {}, problems: [] };
  try {
    const said: unknown = await response.json();
    return said && typeof said === "object" ? { ...bare, ...said, status } : { ...bare, status };
  } catch {
    return { ...bare, status };
  }
}

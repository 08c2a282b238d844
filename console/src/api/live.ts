// Values that follow the API: by its streams, or asked for again and again. Nothing is asked while the page is hidden: a browser
// has few connections to a host, for all of its tabs.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";

import { signedOut } from "../model/session.ts";
import { Away, Refused, stream } from "./client.ts";

/** What is known, and what keeps it from being true now. */
export interface Live<T> {
  value?: T;
  /** Why nothing newer is known, since when by this machine's clock, and the answer, where there was one. */
  trouble?: { since: number; error: Away | Refused };
  /** Ask again now. */
  again: () => void;
}

type Follow<T> = (tell: (value: T) => void, signal: AbortSignal) => Promise<number>;

const FIRST_MS = 1000;
const MOST_MS = 15_000;

/** Follows a stream; `fold` makes the value of the one before and a line. A value that was there before it broke stays. */
export function useStream<T, L>(path: string, silentMs: number, fold: (line: L, before: T | undefined) => T): Live<T> {
  const kept = useRef<T | undefined>(undefined);
  return useLive<T>(async (tell, signal) => {
    for await (const line of stream<L>(path, silentMs, signal)) {
      kept.current = fold(line, kept.current);
      tell(kept.current);
    }
    return FIRST_MS;
  }, path);
}

/** Asks now and then: `everyMs` after an answer, and longer when that itself took long. `key` says what is asked for. */
export function usePolled<T>(load: (signal: AbortSignal) => Promise<T>, everyMs: number, key: string): Live<T> {
  return useLive<T>(async (tell, signal) => {
    const began = performance.now();
    tell(await load(signal));
    return Math.max(everyMs, 5 * (performance.now() - began));
  }, key);
}

function useLive<T>(follow: Follow<T>, key: string): Live<T> {
  const [known, setKnown] = useState<{ key: string; value?: T; trouble?: Live<T>["trouble"] }>({ key });
  const [round, setRound] = useState(0);
  const latest = useRef(follow);
  latest.current = follow;
  useEffect(() => {
    const ending = new AbortController();
    let pause: AbortController | undefined;
    const run = async () => {
      let failures = 0;
      while (!ending.signal.aborted) {
        if (document.hidden) {
          await happens(document, "visibilitychange", ending.signal);
          continue;
        }
        pause = new AbortController();
        const both = AbortSignal.any([ending.signal, pause.signal]);
        let wait: number;
        try {
          wait = await latest.current((value) => {
            failures = 0;
            if (!ending.signal.aborted) setKnown({ key, value });
          }, both);
        } catch (error) {
          if (both.aborted) continue;
          if (!(error instanceof Refused || error instanceof Away)) throw error;
          if (error instanceof Refused && error.problem.status === 401) signedOut();
          setKnown((before) => ({
            key,
            value: before.key === key ? before.value : undefined,
            trouble: { since: (before.key === key && before.trouble?.since) || Date.now(), error },
          }));
          wait = Math.min(FIRST_MS * 2 ** failures++, MOST_MS);
        }
        await sleep(wait, both);
      }
    };
    const hide = () => document.hidden && pause?.abort();
    document.addEventListener("visibilitychange", hide, { signal: ending.signal });
    void run();
    return () => ending.abort();
  }, [key, round]);
  const again = useCallback(() => setRound((before) => before + 1), []);
  return known.key === key ? { value: known.value, trouble: known.trouble, again } : { again };
}

function happens(target: EventTarget, name: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    target.addEventListener(name, () => resolve(), { once: true, signal });
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      resolve();
    };
    const timer = window.setTimeout(done, ms);
    signal.addEventListener("abort", done, { once: true });
    if (signal.aborted) done();
  });
}

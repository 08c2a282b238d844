// Who uses this page, as far as the gateway says: it asks for a token where it has a file of callers.
import { useEffect, useState } from "preact/hooks";

import { ask, Away, keepToken, Refused } from "../api/client.ts";
import { t } from "../words/words.ts";
import { type Caller, mayOrder, type Who, whoOf } from "./caller.ts";

export interface Session {
  /** Nothing is shown before a token is given. */
  signsIn: boolean;
  /** What the gateway says of the token that was given last. */
  refused?: string;
  /** Why nothing may be changed; undefined: it may, as far as is known. */
  readOnly?: string;
  /** Somebody shows a token. */
  known: boolean;
  /** Whom the gateway takes this for; undefined: it asks nobody, or has not said yet. */
  who?: Who;
}

const AGAIN_MS = 5000;
const OFTEN_MS = 60_000;
const BROKEN = 500;

type Known = Omit<Session, "readOnly"> & { reads?: boolean };

let current: Known = { signsIn: false, known: false };
let timer = 0;
const listeners = new Set<(session: Known) => void>();

function become(next: Known): void {
  current = next;
  listeners.forEach((each) => each(next));
}

export function useSession(): Session {
  const [{ reads, ...session }, setSession] = useState(current);
  useEffect(() => {
    setSession(current);
    listeners.add(setSession);
    return () => void listeners.delete(setSession);
  }, []);
  // Made here, so that it is in the language of now.
  return reads ? { ...session, readOnly: t("session.reads", { name: session.who?.name ?? "" }) } : session;
}

/** The gateway does not know who asks (any more). */
export function signedOut(refused?: string): void {
  keepToken(null);
  if (!current.signsIn || refused) become({ signsIn: true, refused, known: false });
}

/** Uses this token from now on, if the gateway takes it. */
export async function signIn(shown: string): Promise<void> {
  keepToken(shown);
  await learn(true);
}

/** Asks who this is and what may be done here, now and then again: roles change, and tokens end. */
export async function learn(known: boolean): Promise<void> {
  clearTimeout(timer);
  let again = OFTEN_MS;
  try {
    const caller = await ask<Caller>("v1/me");
    become({ signsIn: false, known, who: whoOf(caller), reads: !mayOrder(caller) });
  } catch (error) {
    if (error instanceof Refused && error.problem.status === 401) {
      signedOut(known ? error.problem.detail : undefined);
      return;
    }
    if (!(error instanceof Refused || error instanceof Away)) throw error;
    if (error instanceof Away || error.problem.status >= BROKEN) {
      // What was known of it stays as it was.
      again = AGAIN_MS;
      become({ ...current, known });
    } else {
      become({ signsIn: false, known });
    }
  }
  clearTimeout(timer);
  timer = window.setTimeout(() => void (current.signsIn || learn(current.known)), again);
}

// Who uses this page, as far as the gateway says: it asks for a token where it has a file of callers.
import { useEffect, useState } from "preact/hooks";

import { ask, Away, keepToken, Refused } from "../api/client.ts";

export interface Session {
  /** Nothing is shown before a token is given. */
  signsIn: boolean;
  /** What the gateway says of the token that was given last. */
  refused?: string;
  /** Why nothing may be changed; undefined: it may, as far as is known. */
  readOnly?: string;
  /** Somebody shows a token. */
  known: boolean;
}

const AGAIN_MS = 5000;

let current: Session = { signsIn: false, known: false };
const listeners = new Set<(session: Session) => void>();

function become(next: Session): void {
  current = next;
  listeners.forEach((each) => each(next));
}

export function useSession(): Session {
  const [session, setSession] = useState(current);
  useEffect(() => {
    setSession(current);
    listeners.add(setSession);
    return () => void listeners.delete(setSession);
  }, []);
  return session;
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

/** Asks what may be done here: a check of an empty configuration changes nothing, and is for those who may change something. */
export async function learn(known: boolean): Promise<void> {
  try {
    await ask("v1/connectors:validate", { method: "POST", body: { config: {} } });
  } catch (error) {
    if (error instanceof Away) {
      become({ ...current, known });
      setTimeout(() => void learn(known), AGAIN_MS);
      return;
    }
    if (!(error instanceof Refused)) throw error;
    const { status, reason, detail } = error.problem;
    if (status === 401) {
      signedOut(known ? detail : undefined);
      return;
    }
    if (status === 403 && reason === "NOT_ALLOWED") {
      become({ signsIn: false, known, readOnly: detail });
      return;
    }
  }
  become({ signsIn: false, known });
}

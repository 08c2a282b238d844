// A question before something is done: what follows from it, what it wants to know, and why it was refused.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";

import { Away, Refused } from "../api/client.ts";
import { sentence } from "../model/problems.ts";
import { t } from "../words/words.ts";

export interface Question {
  title: string;
  /** What stands on the button that gives the order. */
  answer: string;
  danger?: boolean;
  /** Whether the order can be given. */
  ready?: boolean;
  wide?: boolean;
  /** Gives it; throws Away or Refused. False: the question stays, there is more to it. */
  give: () => Promise<boolean | void>;
  close: (given: boolean) => void;
  children: ComponentChildren;
}

export function Asking({ title, answer, danger, ready = true, wide, give, close, children }: Question) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState<Away | Refused>();
  const id = useId();
  useEffect(() => dialog.current?.showModal(), []);
  const send = async () => {
    setBusy(true);
    setTrouble(undefined);
    try {
      if ((await give()) !== false) {
        close(true);
        return;
      }
    } catch (error) {
      if (!(error instanceof Away || error instanceof Refused)) throw error;
      setTrouble(error);
    }
    setBusy(false);
  };
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={() => close(false)}>
      <article class={wide ? "wide" : ""}>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void send();
          }}
        >
          <h2 id={id}>{title}</h2>
          {children}
          {trouble && <Refusal trouble={trouble} />}
          <footer class="answers">
            <button type="button" class="secondary outline" onClick={() => dialog.current?.close()}>
              {t("order.cancel")}
            </button>
            <button type="submit" class={danger ? "danger" : ""} disabled={busy || !ready} aria-busy={busy}>
              {answer}
            </button>
          </footer>
        </form>
      </article>
    </dialog>
  );
}

/** Why something was not done, or that this is not known; with all that is wrong, where there is more to say. */
export function Refusal({ trouble }: { trouble: Away | Refused }) {
  const problems = trouble instanceof Refused ? (trouble.problem.problems ?? []) : [];
  return (
    <div role="alert" class="alert">
      <p class="lines">{trouble instanceof Away ? t("order.unknown") : t("order.refused", { detail: trouble.problem.detail })}</p>
      {problems.length > 0 && (
        <ul>
          {problems.map((each) => (
            <li key={each.key + each.reason}>
              {each.key && <code>{each.key}</code>} {sentence(each)}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Why it is done, for the history. */
export function Reason({ value, change }: { value: string; change: (value: string) => void }) {
  return (
    <label>
      {t("order.reason")}
      <input autoComplete="off" maxLength={1000} value={value} onInput={(event) => change(event.currentTarget.value)} />
    </label>
  );
}

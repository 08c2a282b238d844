// A question that is asked before something is done: what follows from it, and the two answers.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { Away, Refused } from "../api/client.ts";
import { t } from "../words/words.ts";

interface Asked {
  title: string;
  /** What the button says. */
  answer: string;
  danger?: boolean;
  /** It can't be answered with yes now. */
  closed?: boolean;
  children: ComponentChildren;
  /** Does it; throws Away or Refused, which are shown. */
  give: () => Promise<void>;
  close: () => void;
}

export function Asking({ title, answer, danger, closed, children, give, close }: Asked) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState<Away | Refused>();
  useEffect(() => dialog.current?.showModal(), []);
  const send = async () => {
    setBusy(true);
    setTrouble(undefined);
    try {
      await give();
    } catch (error) {
      if (!(error instanceof Away || error instanceof Refused)) throw error;
      setTrouble(error);
      setBusy(false);
    }
  };
  return (
    <dialog ref={dialog} aria-labelledby="asking-title" onClose={close}>
      <article>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void send();
          }}
        >
          <h2 id="asking-title">{title}</h2>
          {children}
          {trouble && <Failure error={trouble} />}
          <footer class="answers">
            <button type="button" class="secondary outline" onClick={() => dialog.current?.close()}>
              {t("order.cancel")}
            </button>
            <button type="submit" class={danger ? "danger" : ""} disabled={busy || closed} aria-busy={busy}>
              {answer}
            </button>
          </footer>
        </form>
      </article>
    </dialog>
  );
}

/** Why something was not done, or that nobody knows whether it was. */
export function Failure({ error }: { error: Away | Refused }) {
  return (
    <div role="alert" class="alert">
      <p class="lines">{error instanceof Away ? t("order.unknown") : t("order.refused", { detail: error.problem.detail })}</p>
    </div>
  );
}

import { useEffect, useRef, useState } from "preact/hooks";

import { signIn } from "../model/session.ts";
import { t } from "../words/words.ts";

export function SignIn({ refused }: { refused: string | undefined }) {
  const [shown, setShown] = useState("");
  const [busy, setBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const fits = /^[\x21-\x7e]*$/.test(shown.trim());
  return (
    <form
      class="narrow"
      onSubmit={(event) => {
        event.preventDefault();
        setBusy(true);
        void signIn(shown.trim()).finally(() => setBusy(false));
      }}
    >
      <h1>{t("signIn.title")}</h1>
      <p>{t("signIn.why")}</p>
      <label>
        {t("signIn.token")}
        <input
          ref={field}
          type="password"
          name="token"
          autoComplete="off"
          required
          value={shown}
          aria-invalid={fits ? undefined : "true"}
          onInput={(event) => setShown(event.currentTarget.value)}
        />
        {!fits && <small>{t("signIn.characters")}</small>}
      </label>
      {refused && (
        <p role="alert" class="alert">
          {refused}
        </p>
      )}
      <button type="submit" disabled={!fits || !shown.trim() || busy} aria-busy={busy}>
        {t("signIn.button")}
      </button>
    </form>
  );
}

import { useId, useState } from "preact/hooks";

import { ask, Away, Refused } from "../../api/client.ts";
import { correctedOf, rowsText, type WholeLetter } from "../../model/letters.ts";
import { corrected, editable, pretty, same, toBase64 } from "../../model/values.ts";
import { Refusal } from "../../parts/asking.tsx";
import { notice } from "../../parts/notice.tsx";
import { bytes, t } from "../../words/words.ts";

interface Given {
  /** Of the letter, in the API. */
  path: string;
  whole: WholeLetter;
  body: Uint8Array;
  close: () => void;
}

/** Corrects a letter: in a field, where that changes nothing but what people change, or from a file. */
export function Edition({ path, whole, body, close }: Given) {
  // What is corrected is what was seen when it began.
  const [{ what, rows, before }] = useState({ what: correctedOf(whole), rows: rowsText(whole), before: body });
  const [{ form, text }] = useState(() =>
    rows === null ? editable(before) : { form: "text" as const, text: pretty(rows) ?? rows },
  );
  const [written, setWritten] = useState(text);
  const [file, setFile] = useState<Uint8Array>();
  const [unchecked, setUnchecked] = useState(false);
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState<Away | Refused>();
  const hint = useId();
  const made = file ?? (rows !== null ? new TextEncoder().encode(written) : corrected(form, written, before));
  const unchanged = made instanceof Uint8Array && (file || rows === null ? same(made, before) : written === text);
  const store = async () => {
    if (!(made instanceof Uint8Array)) return;
    setBusy(true);
    setTrouble(undefined);
    try {
      const content = rows !== null && !file ? { rows: written } : { [what === "record" ? "record" : "body"]: toBase64(made) };
      await ask(`${path}:edit`, { method: "POST", body: { ...content, unchecked } });
      notice(t("correction.done"));
      close();
    } catch (error) {
      if (!(error instanceof Away || error instanceof Refused)) throw error;
      setTrouble(error);
      setBusy(false);
    }
  };
  return (
    <form
      class="edition"
      onSubmit={(event) => {
        event.preventDefault();
        void store();
      }}
    >
      <h3>{t("correction.title")}</h3>
      <p class="quiet" id={hint}>
        {t(`correction.${what}`)} {form !== "text" && t(`correction.form.${form}`)}
      </p>
      {form !== "file" && !file && (
        <textarea
          aria-label={t("correction.title")}
          aria-describedby={hint}
          aria-invalid={made instanceof Uint8Array ? undefined : "true"}
          rows={Math.min(24, Math.max(4, written.split("\n", 24).length + 1))}
          spellcheck={false}
          value={written}
          onInput={(event) => setWritten(event.currentTarget.value)}
        />
      )}
      {typeof made === "number" && <p class="why">{t("correction.noHex", { place: made + 1 })}</p>}
      <label>
        {t("correction.file")}
        <input
          type="file"
          onChange={(event) => {
            const given = event.currentTarget.files?.[0];
            if (given) void given.arrayBuffer().then((content) => setFile(new Uint8Array(content)));
            else setFile(undefined);
          }}
        />
      </label>
      {file && <p class="quiet">{t("correction.ofFile", { size: bytes(file.length) })}</p>}
      <label>
        <input type="checkbox" checked={unchecked} onChange={(event) => setUnchecked(event.currentTarget.checked)} />
        {t("correction.unchecked")}
      </label>
      {trouble && <Refusal trouble={trouble} />}
      <div class="answers">
        <button type="button" class="secondary outline" onClick={close}>
          {t("order.cancel")}
        </button>
        <button type="submit" disabled={busy || unchanged || !(made instanceof Uint8Array)} aria-busy={busy}>
          {t("correction.store")}
        </button>
      </div>
    </form>
  );
}

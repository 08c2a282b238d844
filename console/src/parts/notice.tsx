// One line that says what was done, until it is closed or the next one comes.
import { useEffect, useState } from "preact/hooks";

import { t } from "../words/words.ts";

let tell: ((text: string) => void) | undefined;

export function notice(text: string): void {
  tell?.(text);
}

export function Notice() {
  const [text, setText] = useState("");
  useEffect(() => {
    tell = setText;
    return () => {
      tell = undefined;
    };
  }, []);
  return (
    <div role="status">
      {text && (
        <p class="notice">
          {text}
          <button type="button" class="outline secondary small" onClick={() => setText("")}>
            {t("app.close")}
          </button>
        </p>
      )}
    </div>
  );
}

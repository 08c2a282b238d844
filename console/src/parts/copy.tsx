import { useState } from "preact/hooks";

import { t, type Word } from "../words/words.ts";

/** Browsers have it only where nobody can listen: by TLS, or on this machine. */
export function Copy({ text, word = "configuration.copy" }: { text: string; word?: Word }) {
  const [copied, setCopied] = useState("");
  if (!navigator.clipboard) return <></>;
  return (
    <button
      type="button"
      class="outline secondary small"
      onClick={() => void navigator.clipboard.writeText(text).then(() => setCopied(text))}
    >
      {t(copied === text ? "configuration.copied" : word)}
    </button>
  );
}

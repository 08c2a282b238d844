import { useState } from "preact/hooks";

import type { Connector } from "../../model/connectors.ts";
import { t } from "../../words/words.ts";

export function Configuration({ connector }: { connector: Connector }) {
  const [copied, setCopied] = useState("");
  const sorted = Object.fromEntries(Object.entries(connector.config ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)));
  const text = JSON.stringify(sorted, null, 2);
  return (
    <>
      <p class="quiet">
        {t("configuration.note")}{" "}
        {/* Browsers have it only where nobody can listen: by TLS, or on this machine. */}
        {navigator.clipboard && (
          <button
            type="button"
            class="outline secondary small"
            onClick={() => void navigator.clipboard.writeText(text).then(() => setCopied(text))}
          >
            {copied === text ? t("configuration.copied") : t("configuration.copy")}
          </button>
        )}
      </p>
      <pre tabIndex={0}>{text}</pre>
    </>
  );
}

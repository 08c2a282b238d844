import type { Connector } from "../../model/connectors.ts";
import { asJson } from "../../model/documents.ts";
import { go, href } from "../../model/route.ts";
import { useSession } from "../../model/session.ts";
import { Copy } from "../../parts/copy.tsx";
import { t } from "../../words/words.ts";

export function Configuration({ connector }: { connector: Connector }) {
  const session = useSession();
  const sorted = Object.fromEntries(Object.entries(connector.config ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)));
  const text = asJson(sorted);
  return (
    <>
      <p class="orders">
        <button
          type="button"
          disabled={session.readOnly !== undefined}
          title={session.readOnly}
          onClick={() => go(href(["change", connector.name ?? ""]))}
        >
          {t("edit.button")}
        </button>
        <span class="quiet">{t("configuration.note")}</span> <Copy text={text} />
      </p>
      <pre tabIndex={0}>{text}</pre>
    </>
  );
}

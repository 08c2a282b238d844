// That a draft is one from before a reload of the page.
import { t } from "../../words/words.ts";

/** `left`: options that were not kept; null: it is none. */
export function Restored({ left, drop }: { left: string[] | null; drop: () => void }) {
  return (
    <div role="status">
      {left && (
        <p class="notice">
          <span>
            {t("form.restored")} {left.length > 0 && t("form.restoredWithout", { keys: left.join(", ") })}
          </span>
          <button type="button" class="outline secondary small" onClick={drop}>
            {t("form.anew")}
          </button>
        </p>
      )}
    </div>
  );
}

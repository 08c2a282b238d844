// Why a comparison ended before its end.
import { Away, type Refused } from "../../api/client.ts";
import { sentence } from "../../model/problems.ts";
import { Refusal } from "../../parts/asking.tsx";
import { t } from "../../words/words.ts";
import { NotCompared } from "./run.ts";

export function Ended({ trouble }: { trouble: Away | Refused | NotCompared }) {
  if (!(trouble instanceof NotCompared)) {
    return trouble instanceof Away ? (
      <p role="alert" class="alert">
        {t("verify.away")}
      </p>
    ) : (
      <Refusal trouble={trouble} />
    );
  }
  return (
    <div role="alert" class="alert">
      <p class="lines">{trouble.problems.length ? t("verify.cannot") : t("verify.trouble", { detail: trouble.message })}</p>
      {trouble.problems.length > 0 && (
        <ul>
          {trouble.problems.map((each) => (
            <li key={`${each.key} ${each.value} ${each.reason}`}>
              <code>{[each.key, each.value].filter(Boolean).join("=")}</code> {sentence(each)}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

// How far a comparison is.
import type { Awaited } from "../../model/verify/passage.ts";
import { lagText } from "../../parts/shown.tsx";
import { exact, t } from "../../words/words.ts";
import type { Progress } from "./run.ts";

export function Moving({ progress, source }: { progress: Progress; source: string }) {
  return (
    <p role="status" aria-busy="true">
      {progress.step === "COMPARING" && t("verify.comparing")}
      {progress.step === "SENDING" &&
        t("verify.sending", { table: progress.table, number: exact(progress.number), of: exact(progress.of) })}
      {progress.step === "SETTLING" &&
        `${t("verify.settling", { count: exact(progress.rows) })} ${textOf(progress.awaited, source)}`}
    </p>
  );
}

function textOf({ what, left, unread, standing }: Awaited, source: string): string {
  return [
    ...[...standing].map(([name, state]) => t("verify.standing", { name, state: t(`state.${state}`) })),
    what !== "TIME" && left ? t("verify.await.WRITING", { count: exact(left) }) : "",
    what === "READING" ? t("verify.await.READING", { source }) : "",
    what === "READING" && unread ? t("verify.unread", { left: lagText(unread) }) : "",
    what === "SENDING" ? t("verify.await.SENDING", { source }) : "",
    what === "TIME" ? t("verify.await.TIME") : "",
  ]
    .filter(Boolean)
    .join(" ");
}

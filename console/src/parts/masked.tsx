import { t } from "../words/words.ts";

/** What the gateway does not show of records, as its operator wants it. */
export function Masked({ of }: { of: readonly string[] | undefined }) {
  return of?.length ? <p class="quiet">{t("masked.these", { fields: of.join(", ") })}</p> : <></>;
}

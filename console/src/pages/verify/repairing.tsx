// The question before a repair: which rows are sent again, which are deleted, and which stay as they are.
import { useState } from "preact/hooks";

import type { Repair } from "../../model/verify/repair.ts";
import { Asking } from "../../parts/asking.tsx";
import { exact, t } from "../../words/words.ts";

interface Of {
  source: string;
  sink: string;
  repair: Repair;
  /** With what is to be repaired. */
  close: (repair?: Repair) => void;
}

const PARTS = ["again", "deleted", "kept", "left"] as const;

export function Repairing({ source, sink, repair, close }: Of) {
  // What is repaired is what was seen when the question was asked.
  const [seen] = useState(repair);
  const any = seen.sendings.length > 0;
  return (
    <Asking
      title={t("repair.title", { sink })}
      answer={t("repair.give")}
      danger={seen.deleted.length > 0}
      ready={any}
      give={() => Promise.resolve()}
      close={(given) => close(given ? seen : undefined)}
    >
      <ul>
        {PARTS.filter((each) => seen[each].length).map((each) => (
          <li key={each}>{t(`repair.${each}`, { count: exact(seen[each].length), source, sink })}</li>
        ))}
      </ul>
      <p>{any ? t("repair.consequence", { source }) : t("repair.nothing")}</p>
    </Asking>
  );
}

// What is to be said of a configuration as a whole.
import { sentence, type Told } from "../../model/problems.ts";
import { number, t } from "../../words/words.ts";
import type { Check } from "./check.ts";

interface Of {
  check: Check;
  /** Those of no option. */
  problems: Told[];
  warnings: Told[];
}

/** What is wrong, what is advised, what is to be expected, and how far the check is. */
export function Standing({ check, problems, warnings }: Of) {
  const count = check.problems.length;
  return (
    <section aria-label={t("form.standing")}>
      {problems.length > 0 && (
        <div role="alert" class="alert">
          <Whole problems={problems} />
        </div>
      )}
      {warnings.length > 0 && (
        <div class="alert advice">
          <Whole problems={warnings} />
        </div>
      )}
      {check.notes.map((each) => (
        <p key={each} class="quiet" lang="en">
          {sentence({ reason: each })}
        </p>
      ))}
      <p role="status" class="quiet">
        {check.off
          ? ""
          : check.trouble
            ? t("form.unchecked", { detail: "problem" in check.trouble ? check.trouble.problem.detail : t("away.nothing") })
            : check.pending
              ? t("form.checking")
              : count
                ? t("form.problems", { count: number(count) })
                : t("form.noProblems")}
      </p>
    </section>
  );
}

function Whole({ problems }: { problems: Told[] }) {
  return (
    <ul>
      {problems.map((each) => (
        <li key={`${each.key} ${each.reason}`}>
          {each.key && <code>{each.key}</code>} {sentence(each)}
        </li>
      ))}
    </ul>
  );
}

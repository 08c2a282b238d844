// What a form knows of a draft: its fields, and what is wrong with them.
import type { Config, Plugin, Section } from "../../model/form.ts";
import { literals, sectionsOf } from "../../model/form.ts";
import { placed, type Placed } from "../../model/problems.ts";
import { useSession } from "../../model/session.ts";
import { t } from "../../words/words.ts";
import { type Check, useCheck } from "./check.ts";
import { type Draft, isBroken } from "./draft.ts";

export interface Editing {
  sections: Section[];
  check: Check;
  problems: Placed;
  warnings: Placed;
  /** It is known to be wrong as it is now. */
  wrong: boolean;
  /** Why nothing may be changed. */
  readOnly: string | undefined;
}

export function useEditing(draft: Draft, plugins: readonly Plugin[]): Editing {
  const session = useSession();
  const sections = sectionsOf(plugins, draft.config);
  const secret = literals(draft.config, sections);
  // A secret itself is told to nobody, not even to ask what is wrong with it.
  const config: Config = Object.fromEntries(Object.entries(draft.config).filter(([key]) => !secret.includes(key)));
  const asked = useCheck({
    config,
    name: draft.name,
    isNew: !draft.base,
    may: plugins.length > 0 && session.readOnly === undefined,
  });
  const own = secret.map((key) => ({ key, value: "", reason: t("form.literal"), fix: t("form.secret") }));
  const check = { ...asked, problems: [...own, ...asked.problems.filter((each) => !secret.includes(each.key ?? ""))] };
  return {
    sections,
    check,
    problems: placed(check.problems, sections, draft.config),
    warnings: placed(check.warnings, sections, draft.config),
    wrong: isBroken(draft) || own.length > 0 || (asked.problems.length > 0 && !asked.pending),
    readOnly: session.readOnly,
  };
}

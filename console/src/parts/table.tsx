// A table whose rows become cards where the screen is narrow: each cell names its column by `data-label`.
import type { ComponentChildren } from "preact";

import { t, type Word } from "../words/words.ts";

export interface Columns {
  columns: readonly Word[];
  /** Those of them that are of numbers. */
  numbers?: readonly Word[];
  /** For its style. */
  kind?: string;
  /** What stands above a first column that has no name. */
  first?: ComponentChildren;
  /** The rows. */
  children: ComponentChildren;
}

export function Table({ columns, numbers = [], kind, first, children }: Columns) {
  return (
    <table class={kind ? `cards ${kind}` : "cards"}>
      <thead>
        <tr>
          {first && <th scope="col">{first}</th>}
          {columns.map((each) => (
            <th key={each} scope="col" class={numbers.includes(each) ? "number" : undefined}>
              {t(each)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
}

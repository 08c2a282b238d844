// A value of a record in the forms in which people read it. It is text in all of them, and never more at once than a page takes.
import { useEffect, useMemo, useState } from "preact/hooks";

import { cut, CUT, dumped, hexDump, pretty, type Table, textOf, type View } from "../model/values.ts";
import { bytes as bytesText, number, t } from "../words/words.ts";

interface Shown {
  bytes: Uint8Array;
  /** Its rows, where it has some. */
  table?: Table | null;
  label: string;
}

const MOST_PRETTY = 4_194_304;
const MOST_OF_PAIR = 2000;
const MOST_OF_CELL = 500;

export function Value({ bytes, table = null, label }: Shown) {
  const text = useMemo(() => textOf(bytes), [bytes]);
  const json = useMemo(() => (text !== null && text.length <= MOST_PRETTY ? pretty(text) : null), [text]);
  const views: View[] = [
    ...(table ? (["table"] as const) : []),
    ...(json !== null && /^\s*[[{]/.test(json) ? (["json"] as const) : []),
    ...(text !== null ? (["text"] as const) : []),
    "hex",
  ];
  const [chosen, choose] = useState<View>();
  const view = chosen && views.includes(chosen) ? chosen : (views[0] ?? "hex");
  return (
    <section class="value" aria-label={label}>
      <div class="views">
        {views.map((each) => (
          <button
            key={each}
            type="button"
            class={`small ${each === view ? "secondary" : "outline secondary"}`}
            aria-pressed={each === view}
            onClick={() => choose(each)}
          >
            {t(`value.${each}`)}
          </button>
        ))}
        <span class="quiet">{bytesText(bytes.length)}</span>
        <Save bytes={bytes} />
      </div>
      {view === "table" && table ? (
        <Rows table={table} />
      ) : (
        <Long key={view} view={view} bytes={bytes} text={(view === "json" ? json : text) ?? ""} />
      )}
    </section>
  );
}

/** A long one shows its beginning, and more each time that it is asked for. */
function Long({ view, bytes, text }: { view: View; bytes: Uint8Array; text: string }) {
  const [most, setMost] = useState(CUT);
  const isHex = view === "hex";
  const [shown, whole] = isHex ? [dumped(most), bytes.length] : [most, text.length];
  const first = isHex ? hexDump(bytes, shown) : cut(text, shown);
  return (
    <>
      <pre class={isHex ? "hex" : ""} tabIndex={0}>
        {first || t("value.empty")}
      </pre>
      {shown < whole && (
        <p class="quiet">
          {t("value.cut", { shown: number(shown), whole: number(whole) })}{" "}
          <button type="button" class="outline secondary small" onClick={() => setMost(most * 4)}>
            {t("value.more")}
          </button>
        </p>
      )}
    </>
  );
}

export function Rows({ table }: { table: Table }) {
  return (
    <div class="wide" tabIndex={0} role="region" aria-label={t("value.table")}>
      <table>
        <thead>
          <tr>
            {table.columns.map((each) => (
              <th scope="col" key={each}>
                {each}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, index) => (
            <tr key={index}>
              {row.map((each, column) => (
                <td key={column}>
                  {each === undefined ? "" : cut(each, MOST_OF_CELL)}
                  {(each?.length ?? 0) > MOST_OF_CELL && " …"}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Save({ bytes }: { bytes: Uint8Array }) {
  const [address, setAddress] = useState("");
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([bytes as BlobPart], { type: "application/octet-stream" }));
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [bytes]);
  return (
    <a href={address} download="value.bin">
      {t("value.save")}
    </a>
  );
}

/** Names and values, as they are. */
export function Pairs({ of, label }: { of: Record<string, string>; label: string }) {
  const pairs = Object.entries(of);
  if (!pairs.length) return <></>;
  return (
    <dl class="pairs" aria-label={label}>
      {pairs.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            {cut(value, MOST_OF_PAIR)}
            {value.length > MOST_OF_PAIR && " …"}
          </dd>
        </div>
      ))}
    </dl>
  );
}

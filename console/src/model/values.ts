// Values of records as people read and correct them: bytes, text, JSON, hex. Nothing here changes a byte unasked. Pure.

export type View = "text" | "json" | "table" | "hex";

/** Text that is longer is cut where it is shown, with a button for more. */
export const CUT = 20_000;
const HEX_ROW = 16;
/** What a field of a page holds without becoming slow. */
const MOST_TEXT = 262_144;
const MOST_HEX = 4096;
/** Indents make of JSON so many times what it was at most: what is nested thousands of times has none that a page could hold. */
const MOST_INDENTED = 16;

export function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
}

export function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += 32_768) binary += String.fromCharCode(...bytes.subarray(at, at + 32_768));
  return btoa(binary);
}

/** The text that these bytes are; null: they are none. */
export function textOf(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** The first characters, without half of one. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  return text.slice(0, /[\uD800-\uDBFF]/.test(text.charAt(most - 1)) ? most - 1 : most);
}

/** JSON with lines and indents, its numbers and keys as they are written; null: it is no JSON, or nested too deeply. */
export function pretty(text: string): string | null {
  if (!isJson(text)) return null;
  let out = "";
  let depth = 0;
  const line = () => `\n${"  ".repeat(depth)}`;
  let before = "";
  for (const token of tokens(text)) {
    if (token === "}" || token === "]") {
      depth -= 1;
      out += before === "{" || before === "[" ? token : line() + token;
    } else {
      if (before === "{" || before === "[" || before === ",") out += line();
      out += token === ":" ? ": " : token;
      if (token === "{" || token === "[") depth += 1;
    }
    before = token;
    if (out.length > MOST_INDENTED * text.length + CUT) return null;
  }
  return out;
}

/** What a JSON object has, each value as it is written (of a text its content); null: it is no object. */
export function members(text: string): [string, string][] | null {
  if (!isJson(text) || !text.trimStart().startsWith("{")) return null;
  const found: [string, string][] = [];
  let depth = 0;
  let key: string | undefined;
  let value: string[] = [];
  const close = () => {
    if (key !== undefined)
      found.push([key, value.length === 1 && value[0]?.startsWith('"') ? String(JSON.parse(value[0])) : value.join("")]);
    key = undefined;
    value = [];
  };
  for (const token of tokens(text)) {
    if (token === "}" || token === "]") depth -= 1;
    if (depth === 0) {
      if (token === "{") depth += 1;
      continue;
    }
    if (depth === 1 && token === ",") close();
    else if (key === undefined) key = String(JSON.parse(token));
    else if (!(depth === 1 && token === ":")) value.push(token);
    if (token === "{" || token === "[") depth += 1;
  }
  close();
  return found;
}

export interface Table {
  columns: string[];
  /** By column; undefined: it has none of it. */
  rows: (string | undefined)[][];
}

/** JSON objects as rows of one table; null: one of them is none. */
export function tabulate(values: string[]): Table | null {
  const all = values.map(members);
  if (!all.length || all.includes(null)) return null;
  const rows = all.map((each) => new Map(each));
  const columns = [...new Set(rows.flatMap((each) => [...each.keys()]))];
  return { columns, rows: rows.map((each) => columns.map((column) => each.get(column))) };
}

/** Bytes as lines of: offset, hex, and what of it is ASCII. */
export function hexDump(bytes: Uint8Array, most: number): string {
  const lines: string[] = [];
  for (let at = 0; at < Math.min(bytes.length, most); at += HEX_ROW) {
    const row = [...bytes.subarray(at, at + HEX_ROW)];
    const hex = row.map((each) => each.toString(16).padStart(2, "0")).join(" ");
    const ascii = row.map((each) => (each >= 0x20 && each < 0x7f ? String.fromCharCode(each) : ".")).join("");
    lines.push(`${at.toString(16).padStart(8, "0")}  ${hex.padEnd(3 * HEX_ROW - 1)}  ${ascii}`);
  }
  return lines.join("\n");
}

/** How many bytes a dump of so many characters shows. */
export function dumped(characters: number): number {
  return HEX_ROW * Math.ceil(characters / (4 * HEX_ROW + 12));
}

export type Form = "text" | "hex" | "file";

/** In which form a value can be corrected in a field, and what stands in that; "file": only from a file. */
export function editable(bytes: Uint8Array): { form: Form; text: string } {
  const text = bytes.length <= MOST_TEXT ? textOf(bytes) : null;
  // A field makes \n of each line break, and shows nothing of other controls: what it would change is not for it.
  if (text !== null && !/[\u0000-\u0008\u000B-\u001F\uFEFF]/.test(text.replaceAll("\r\n", "\n"))) {
    if (!text.includes("\r") || !/(^|[^\r])\n/.test(text)) return { form: "text", text: text.replaceAll("\r\n", "\n") };
  }
  if (bytes.length > MOST_HEX) return { form: "file", text: "" };
  return { form: "hex", text: [...bytes].map((each) => each.toString(16).padStart(2, "0")).join(" ") };
}

/** What a field now says; a number: the place of the first sign that is no hex. Line breaks are those that the value had. */
export function corrected(form: Form, text: string, before: Uint8Array): Uint8Array | number {
  if (form === "text") {
    const breaks = textOf(before)?.includes("\r\n") ? text.replaceAll("\n", "\r\n") : text;
    return new TextEncoder().encode(breaks);
  }
  const wrong = text.search(/[^\s0-9a-f]/i);
  if (wrong >= 0) return wrong;
  const digits = text.replace(/\s/g, "");
  if (digits.length % 2) return text.length;
  return Uint8Array.from(digits.match(/../g) ?? [], (each) => parseInt(each, 16));
}

export function same(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((each, index) => each === b[index]);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Those of a text that is JSON. */
function* tokens(text: string): Generator<string> {
  for (const [token] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g)) yield token;
}

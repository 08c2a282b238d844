// The dead letters of a connector: all of them, one of them, or a replay that is under way.
import type { JSX } from "preact";

import { Following } from "./following.tsx";
import { LetterPage } from "./letter.tsx";
import { List } from "./list.tsx";

interface Shown {
  name: string;
  /** Of the connector, in the API. */
  path: string;
  /** What stands behind the tab in the address: nothing, the id of a letter, or "replays" and the name of one. */
  rest: string[];
  query: URLSearchParams;
}

export function Letters({ name, path, rest, query }: Shown): JSX.Element {
  const [first, second] = rest;
  if (first === "replays" && second) return <Following key={second} name={name} path={path} replay={second} />;
  if (first) return <LetterPage key={first} name={name} path={path} id={first} />;
  return <List key={query.toString()} name={name} path={path} query={query} />;
}

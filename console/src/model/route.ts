// Which page is shown: what stands behind the # of the address, so that it can be kept and sent to others.
import { useEffect, useState } from "preact/hooks";

export interface Route {
  /** The segments of the path, decoded. */
  path: string[];
  query: URLSearchParams;
}

function read(): Route {
  const [path = "", query = ""] = location.hash.replace(/^#/, "").split("?", 2);
  const segments = path.split("/").filter(Boolean);
  return { path: segments.map(decoded), query: new URLSearchParams(query) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function useRoute(): Route {
  const [route, setRoute] = useState(read);
  useEffect(() => {
    const look = () => setRoute(read());
    addEventListener("hashchange", look);
    return () => removeEventListener("hashchange", look);
  }, []);
  return route;
}

/** The address of a page of this console. */
export function href(path: string[], query: Record<string, string> = {}): string {
  const given = new URLSearchParams(Object.entries(query).filter(([, value]) => value));
  const text = given.size ? `?${given}` : "";
  return `#/${path.map(encodeURIComponent).join("/")}${text}`;
}

/** Shows another page; `inPlace`: that the browser's way back does not pass by this one. */
export function go(address: string, inPlace = false): void {
  if (!inPlace) {
    location.hash = address;
    return;
  }
  history.replaceState(null, "", address);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

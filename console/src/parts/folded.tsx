// What is folded until it is opened, or there is something to see in it.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";

interface FoldedOf {
  title: ComponentChildren;
  /** It is open for as long as somebody searches. */
  searched: boolean;
  /** It opens when this becomes so, and does not close by itself while somebody is at it. */
  needed: boolean;
  children: ComponentChildren;
}

export function Folded({ title, searched, needed, children }: FoldedOf) {
  const [open, setOpen] = useState(false);
  useEffect(() => {
    if (needed) setOpen(true);
  }, [needed]);
  return (
    <details open={open || searched} onToggle={(event) => !searched && setOpen(event.currentTarget.open)}>
      <summary>{title}</summary>
      {children}
    </details>
  );
}

// What can be done with a connector; each order says what follows from it before it is given.
import { useState } from "preact/hooks";

import { ask, segment } from "../api/client.ts";
import { type Connector, wantedOf } from "../model/connectors.ts";
import { go, href } from "../model/route.ts";
import { useSession } from "../model/session.ts";
import { t } from "../words/words.ts";
import { Asking, Reason } from "./asking.tsx";
import { notice } from "./notice.tsx";

const ORDERS = ["pause", "resume", "restart", "stop", "delete"] as const;
type Order = (typeof ORDERS)[number];

export function Orders({ connector, done }: { connector: Connector; done: () => void }) {
  const session = useSession();
  const [asked, setAsked] = useState<Order | null>(null);
  const wanted = wantedOf(connector);
  const possible: Record<Order, boolean> = {
    pause: wanted === "RUNNING",
    resume: wanted !== "RUNNING",
    restart: true,
    stop: wanted !== "STOPPED",
    delete: true,
  };
  return (
    <>
      <section class="orders" aria-label={t("order.group")}>
        {ORDERS.map((each) => (
          <button
            key={each}
            type="button"
            class={each === "delete" ? "outline danger" : "outline"}
            disabled={!possible[each] || session.readOnly !== undefined}
            title={session.readOnly}
            onClick={() => setAsked(each)}
          >
            {t(`order.${each}`)}
          </button>
        ))}
        <span class="quiet">{t(`wanted.${wanted}`)}</span>
      </section>
      {session.readOnly !== undefined && <p class="quiet">{t("connector.readOnly", { why: session.readOnly })}</p>}
      {asked && (
        <Confirmation
          order={asked}
          connector={connector}
          close={(given) => {
            setAsked(null);
            if (!given) return;
            notice(t(`order.done.${asked}`, { name: connector.name ?? "" }));
            if (asked === "delete") go(href([]));
            else done();
          }}
        />
      )}
    </>
  );
}

interface Confirming {
  order: Order;
  connector: Connector;
  close: (given: boolean) => void;
}

function Confirmation({ order, connector, close }: Confirming) {
  const [reason, setReason] = useState("");
  const [typed, setTyped] = useState("");
  // What is deleted is what was seen when the question was asked, and not what somebody has changed meanwhile.
  const [{ name = "", uid = "", etag = "" }] = useState(connector);
  return (
    <Asking
      title={t(`order.${order}.title`, { name })}
      answer={t(`order.${order}`)}
      danger={order === "delete"}
      ready={order !== "delete" || typed === name}
      give={() => send(order, name, reason.trim(), etag)}
      close={close}
    >
      <p>{t(`order.${order}.consequence`, { uid })}</p>
      {order === "delete" && (
        <label>
          {t("order.typeName", { name })}
          <input autoComplete="off" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
        </label>
      )}
      <Reason value={reason} change={setReason} />
    </Asking>
  );
}

export async function send(order: Order, name: string, reason: string, etag: string): Promise<void> {
  const path = `v1/connectors/${segment(name)}`;
  if (order === "delete") {
    await ask(`${path}?${new URLSearchParams({ etag, ...(reason && { reason }) })}`, { method: "DELETE" });
    return;
  }
  await ask(`${path}:${order}`, { method: "POST", body: reason ? { reason } : {} });
}

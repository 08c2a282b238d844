// The names of the secrets in the keystore; nobody is told their values.
import { askAll, Refused, type Schemas } from "../../api/client.ts";
import { usePolled } from "../../api/live.ts";
import { Ago, Old, Trouble } from "../../parts/shown.tsx";
import { Table } from "../../parts/table.tsx";
import { t } from "../../words/words.ts";

const EVERY_MS = 10_000;

export function Secrets() {
  const live = usePolled((signal) => askAll<Schemas["keystore.Secret"]>("v1/secrets", "secrets", signal), EVERY_MS, "secrets");
  const error = live.trouble?.error;
  if (error instanceof Refused && error.problem.reason === "NO_KEYSTORE") return <p>{error.problem.detail}</p>;
  return (
    <>
      <Trouble of={[live]} />
      {live.value && (
        <Old of={[live]}>
          <p class="quiet">{t("secrets.note")}</p>
          {live.value.length ? (
            <Table columns={["column.secret", "column.changed"]}>
              {live.value.map((each) => (
                <tr key={each.name}>
                  <td data-label={t("column.secret")}>
                    <code>{`\${keystore:${each.name}}`}</code>
                  </td>
                  <td data-label={t("column.changed")}>
                    <Ago time={each.updateTime} />
                  </td>
                </tr>
              ))}
            </Table>
          ) : (
            <p>{t("secrets.none")}</p>
          )}
        </Old>
      )}
    </>
  );
}

// The first step to a new connector: which system it is of.
import { askAll } from "../../api/client.ts";
import { type Live, usePolled } from "../../api/live.ts";
import type { Kind } from "../../model/connectors.ts";
import { choosable, CONNECTORS, kindOfPlugin, type Plugin } from "../../model/form.ts";
import { go, href } from "../../model/route.ts";
import { Choice } from "../../parts/choice.tsx";
import { Trouble } from "../../parts/shown.tsx";
import { Table } from "../../parts/table.tsx";
import { number, t } from "../../words/words.ts";

const PLUGINS_MS = 600_000;

/** What the workers offer now. */
export function usePlugins(): Live<Plugin[]> {
  return usePolled((signal) => askAll<Plugin>("v1/plugins", "plugins", signal), PLUGINS_MS, "plugins");
}

export function Choose({ query }: { query: URLSearchParams }) {
  const plugins = usePlugins();
  const [search, kind] = [query.get("q") ?? "", query.get("kind") ?? ""];
  const choose = (given: Record<string, string>) => go(href(["create"], { q: search, kind, ...given }), true);
  const found = choosable(plugins.value ?? [], kind, search);
  return (
    <>
      <p class="back">
        <a href={href([])}>← {t("connector.back")}</a>
      </p>
      <h1>{t("create.title")}</h1>
      <p>{t("create.choose")}</p>
      <Trouble of={[plugins]} />
      <search class="filters">
        <label>
          {t("pipelines.search")}
          <input
            type="search"
            placeholder={t("create.searchHint")}
            value={search}
            onInput={(event) => choose({ q: event.currentTarget.value })}
          />
        </label>
        <Choice
          label={t("pipelines.kind")}
          value={kind}
          of={[["", t("pipelines.all")], ...CONNECTORS.map((each) => [each, t(`kind.${each}`)] as const)]}
          choose={(kind) => choose({ kind })}
        />
      </search>
      {plugins.value && (
        <>
          <p class="quiet" role="status">
            {t("create.found", { count: number(found.length) })}
          </p>
          <Table columns={["column.system", "column.kind", "column.does", "column.guarantee"]}>
            {found.map((each) => (
              <tr key={each.name}>
                <td data-label={t("column.system")} class="short">
                  <a href={href(["create", each.name ?? ""])}>{each.name}</a>
                </td>
                <td data-label={t("column.kind")} class="short">
                  {t(`kind.${kindOfPlugin(each) as Kind}`)}
                </td>
                <td data-label={t("column.does")} lang="en">
                  {each.summary}
                </td>
                <td data-label={t("column.guarantee")}>
                  <code>{each.guarantee}</code>
                </td>
              </tr>
            ))}
          </Table>
        </>
      )}
    </>
  );
}

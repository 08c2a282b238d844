import { useEffect, useRef, useState } from "preact/hooks";

import { type Route, href, useRoute } from "./model/route.ts";
import { learn, signedOut, useSession } from "./model/session.ts";
import { chooseTheme, type Theme, theme, THEMES } from "./model/theme.ts";
import { token } from "./api/client.ts";
import { Cluster } from "./pages/cluster.tsx";
import { ConnectorPage } from "./pages/connector.tsx";
import { Change } from "./pages/form/change.tsx";
import { Choose } from "./pages/form/choose.tsx";
import { Create } from "./pages/form/create.tsx";
import { Pipelines } from "./pages/pipelines.tsx";
import { SignIn } from "./pages/sign-in.tsx";
import { TopicPage } from "./pages/topics/topic.tsx";
import { Topics } from "./pages/topics/topics.tsx";
import { Notice } from "./parts/notice.tsx";
import { Ending, Me } from "./parts/who.tsx";
import { chooseLanguage, currentLanguage, t } from "./words/words.ts";

export function App() {
  const route = useRoute();
  const session = useSession();
  const [language, setLanguage] = useState(currentLanguage());
  const main = useRef<HTMLElement>(null);
  const page = route.path.slice(0, 2).join("/");
  useEffect(() => void learn(token() !== null), []);
  const before = useRef(page);
  useEffect(() => {
    // Who moves by the keyboard, or listens, begins at the new page.
    if (before.current !== page) main.current?.focus();
    before.current = page;
  }, [page]);
  useEffect(() => {
    document.title = [route.path[1] ?? "", t("app.name")].filter(Boolean).join(" – ");
  }, [page, language]);
  return (
    <div key={language}>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
        {t("app.skip")}
      </a>
      <header class="bar">
        <nav aria-label={t("app.navigation")}>
          <a class="name" href={href([])}>
            {t("app.name")}
          </a>
          <a href={href([])} aria-current={["topics", "cluster"].includes(route.path[0] ?? "") ? undefined : "page"}>
            {t("pipelines.title")}
          </a>
          <a href={href(["topics"])} aria-current={route.path[0] === "topics" ? "page" : undefined}>
            {t("topics.title")}
          </a>
          <a href={href(["cluster"])} aria-current={route.path[0] === "cluster" ? "page" : undefined}>
            {t("cluster.title")}
          </a>
          {/* A link shows no token. */}
          {!session.known && !session.signsIn && (
            <a href="v1/docs" target="_blank" rel="noreferrer">
              {t("app.api")}
            </a>
          )}
        </nav>
        <div class="choices">
          {session.who && <Me who={session.who} />}
          <ThemeChoice />
          <button
            type="button"
            class="outline secondary small"
            title={t("app.languageHint")}
            lang={language === "en" ? "zh" : "en"}
            onClick={() => {
              chooseLanguage(language === "en" ? "zh" : "en");
              document.documentElement.lang = currentLanguage();
              setLanguage(currentLanguage());
            }}
          >
            {t("app.language")}
          </button>
          {session.known && (
            <button type="button" class="outline secondary small" onClick={() => signedOut("")}>
              {t("app.signOut")}
            </button>
          )}
        </div>
      </header>
      <main ref={main} tabIndex={-1} id="main">
        <Notice />
        {session.who && <Ending who={session.who} />}
        {session.signsIn ? <SignIn refused={session.refused} /> : <Page route={route} />}
      </main>
    </div>
  );
}

function Page({ route }: { route: Route }) {
  const [first, name, tab, ...rest] = route.path;
  if (first === undefined) return <Pipelines query={route.query} />;
  if (first === "connectors" && name)
    return <ConnectorPage key={name} name={name} tab={tab ?? "tasks"} rest={rest} query={route.query} />;
  if (first === "create") return name ? <Create key={name} plugin={name} /> : <Choose query={route.query} />;
  if (first === "change" && name) return <Change key={name} name={name} />;
  if (first === "topics") return name ? <TopicPage key={name} name={name} query={route.query} /> : <Topics query={route.query} />;
  if (first === "cluster") return <Cluster tab={name ?? "workers"} />;
  return <p>{t("app.noPage")}</p>;
}

function ThemeChoice() {
  const [chosen, setChosen] = useState(theme());
  return (
    <select
      class="small"
      aria-label={t("app.theme")}
      value={chosen}
      onChange={(event) => {
        chooseTheme(event.currentTarget.value as Theme);
        setChosen(theme());
      }}
    >
      {THEMES.map((each) => (
        <option key={each} value={each}>
          {t(`app.theme.${each}`)}
        </option>
      ))}
    </select>
  );
}

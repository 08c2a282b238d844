import "@picocss/pico/css/pico.min.css";
import "./style.css";

import { render } from "preact";

import { App } from "./app.tsx";
import { showTheme } from "./model/theme.ts";

showTheme();
const place = document.getElementById("app");
if (place) render(<App />, place);

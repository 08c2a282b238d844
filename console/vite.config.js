import { defineConfig } from "vite";

export default defineConfig({
  // The page is at /, or wherever a proxy has put it: what it loads and asks is named from there.
  base: "./",
  build: {
    assetsDir: "console",
    assetsInlineLimit: 0,
    // What of others is in it, with their licences; it goes into packages, and is not served.
    license: { fileName: "licenses.md" },
    // What each browser of the last years loads by itself.
    modulePreload: { polyfill: false },
    target: "es2022",
  },
});

// Mounts the studio.
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app/App";
import { applyTheme } from "./app/theme";
import "./design/tokens.css";
import "./design/base.css";
import "./design/controls.css";
import "./app/app.css";

applyTheme();
const root = document.getElementById("root");
if (root === null) throw new Error("the page has no root");
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);

// The page: one pane or two, and what is common to them.
import { Pane } from "./pane.js";

const root = document.documentElement;
const token = document.getElementById("token");
const split = document.getElementById("split");
const reader = document.getElementById("reader");
const theme = document.getElementById("theme");
const features = new Set(root.dataset.features.split(" "));
const panes = [];
window.panes = panes;

function add(name) {
  const pane = new Pane(document.getElementById("panes"), { name, features, token: () => token.value });
  pane.screen.set({ reader: reader.getAttribute("aria-pressed") === "true" });
  panes.push(pane);
}

// toggle turns a button, and returns whether it is pressed now.
function toggle(button) {
  const pressed = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", String(pressed));
  return pressed;
}

const repaint = () => { for (const p of panes) p.screen.repaint(); };

split.addEventListener("click", () => {
  if (toggle(split)) add("Second");
  else panes.pop().close();
});
reader.addEventListener("click", () => {
  const on = toggle(reader);
  for (const p of panes) p.screen.set({ reader: on });
});
theme.addEventListener("change", () => {
  root.dataset.theme = theme.value;
  repaint();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
document.getElementById("access").addEventListener("submit", (e) => {
  e.preventDefault();
  panes[0].connect();
});
add("First");

"use strict";
(() => {
  const one = (selector) => document.querySelector(selector);
  const banner = one(".banner"), connection = one("#connection"), rows = one("#entries tbody");
  const facts = [...document.querySelectorAll(".banner .facts dd")];
  const columns = {}; // by chart: [[x…], [y…]…]
  const mostEntries = 100;

  const head = (v) => {
    banner.className = "banner " + v.tone;
    one(".banner .seal").textContent = v.symbol;
    one(".banner h1 > :last-child").textContent = v.word;
    one(".banner .sentence").textContent = v.sentence;
  };
  const cell = (name, text) => {
    const e = document.createElement(name);
    e.textContent = text;
    return e;
  };
  const entry = (e) => {
    const row = document.createElement("tr"), badge = document.createElement("span"), symbol = document.createElement("span"), result = document.createElement("td");
    const what = cell("th", e.text);
    what.scope = "row";
    badge.className = "badge " + e.tone;
    symbol.className = "symbol";
    symbol.setAttribute("aria-hidden", "true");
    symbol.textContent = e.symbol;
    badge.append(symbol, " " + e.word);
    result.append(badge);
    row.append(what, result);
    rows.append(row);
    while (rows.children.length > mostEntries) rows.firstChild.remove();
  };
  const points = (id, moments, whole) => {
    if (whole || !columns[id]) columns[id] = moments[0] ? moments[0].map(() => []) : [];
    for (const m of moments) m.forEach((v, i) => columns[id][i].push(v));
  };

  const events = new EventSource("events");
  events.addEventListener("open", () => { connection.textContent = "This page follows the run."; });
  events.addEventListener("error", () => { connection.textContent = "The connection to the run is lost; the page tries again."; });
  events.addEventListener("message", (event) => {
    const m = JSON.parse(event.data);
    if (m.sentence) one(".banner .sentence").textContent = m.sentence;
    (m.facts || []).forEach((text, i) => { if (facts[i]) facts[i].textContent = text; });
    if (m.whole) rows.replaceChildren();
    for (const e of m.entries || []) entry(e);
    for (const id of Object.keys(m.moments || {})) points(id, m.moments[id], m.whole);
    if (m.moments) dispatchEvent(new CustomEvent("charts", { detail: columns }));
    if (!m.verdict) return;
    events.close();
    head(m.verdict);
    document.title = m.verdict.word + " – " + document.title;
    connection.textContent = "The run has ended. This page stays as it is.";
  });
})();

"use strict";
(() => {
  // A link into a folded part opens it.
  const reveal = () => {
    let id = location.hash.slice(1);
    try { id = decodeURIComponent(id); } catch { return; }
    const target = id && document.getElementById(id);
    if (!target) return;
    for (let e = target; e; e = e.parentElement) {
      if (e.tagName === "DETAILS") e.open = true;
      e.hidden = false;
    }
    for (const d of target.querySelectorAll(":scope > * > details")) d.open = true;
    target.scrollIntoView({ block: "start" });
  };
  addEventListener("hashchange", reveal);

  const copy = async (button) => {
    const code = button.parentElement.querySelector("code");
    let done = false;
    try {
      await navigator.clipboard.writeText(code.textContent);
      done = true;
    } catch {
      getSelection().selectAllChildren(code);
      done = document.execCommand("copy");
    }
    button.textContent = done ? "Copied" : "Select it";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  };
  for (const button of document.querySelectorAll(".copy")) {
    button.hidden = false;
    button.addEventListener("click", () => copy(button));
  }

  // A filter hides the rows that lack one of its words, and the groups without rows.
  for (const filter of document.querySelectorAll("[data-filter]")) {
    const scope = document.getElementById(filter.dataset.filter);
    const input = filter.querySelector("input"), kind = filter.querySelector("select"), out = filter.querySelector("output");
    const rows = [...scope.querySelectorAll("[data-row]")].map((e) => ({ e, text: e.textContent.toLowerCase(), kind: e.dataset.row }));
    const groups = [...scope.querySelectorAll("details.group")].map((e) => ({ e, open: e.open }));
    const apply = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      const wanted = kind ? kind.value : "";
      const active = words.length > 0 || wanted !== "";
      let shown = 0;
      for (const r of rows) {
        r.e.hidden = (wanted !== "" && r.kind !== wanted) || !words.every((w) => r.text.includes(w));
        if (!r.e.hidden) shown++;
      }
      for (const g of groups) {
        g.e.hidden = !g.e.querySelector("[data-row]:not([hidden])");
        g.e.open = active ? !g.e.hidden : g.open;
      }
      out.textContent = active ? `${shown} of ${rows.length}` : "";
    };
    input.addEventListener("input", apply);
    if (kind) kind.addEventListener("change", apply);
    filter.hidden = false;
  }

  // Charts: uPlot draws over the drawing that the page brings along.
  const data = document.getElementById("charts");
  const format = (v, unit) => {
    if (v == null) return "–";
    const short = (n) => (Math.abs(n) >= 1000 ? n.toFixed(0) : String(Number(n.toPrecision(4))));
    const a = Math.abs(v);
    if (unit === "us") return a < 1e3 ? short(v) + " µs" : a < 1e6 ? short(v / 1e3) + " ms" : short(v / 1e6) + " s";
    return a >= 1e6 ? short(v / 1e6) + " M" : a >= 1e4 ? short(v / 1e3) + " k" : short(v);
  };
  const dashes = [[], [7, 4], [2, 4], [10, 3, 2, 3], [4, 2], [1, 3], [14, 4], [3, 3, 9, 3]];
  const drawn = [], latest = {};
  const draw = (chart) => {
    const figure = document.querySelector(`[data-chart="${CSS.escape(chart.id)}"]`);
    const plot = figure && figure.querySelector(".plot");
    if (!plot) return;
    const css = getComputedStyle(document.documentElement), color = (name) => css.getPropertyValue("--" + name).trim();
    const decades = (u, splits) => splits.map((v) => (v > 0 && Math.abs(Math.log10(v) - Math.round(Math.log10(v))) < 1e-9 ? v : null));
    const axis = (a, size) => ({
      stroke: color("soft"), grid: { stroke: color("rule"), width: 1, ...(a.log && !a.ticks ? { filter: decades } : {}) },
      ticks: { stroke: color("rule"), width: 1, ...(a.log && !a.ticks ? { filter: decades } : {}) }, size, font: "12px system-ui, sans-serif",
      ...(a.ticks ? { splits: () => a.ticks.map((t) => t.at), values: () => a.ticks.map((t) => t.label), filter: (u, s) => s } : { values: (u, s) => s.map((v) => (v == null ? "" : format(v, a.unit))) }),
    });
    // All of the values take the whole axis, and a part that the reader chose takes its own place.
    const whole = (a) => (u, low, high) => (low === u.data[0][0] && high === u.data[0].at(-1) ? [a.from || 0, a.to] : [low, high]);
    const scale = (a, zero) => ({ time: false, distr: a.log ? 3 : 1, ...(a.to > (a.from || 0) ? { range: whole(a) } : {}), ...(zero && !a.log ? { range: (u, low, high) => [Math.min(0, low ?? 0), (high || 1) * 1.05] } : {}) });
    const joined = latest[chart.id] || uPlot.join(chart.series.map((s) => [s.points.map((p) => p[0]), s.points.map((p) => p[1])]));
    const place = (v) => {
      const tick = (chart.x.ticks || []).find((t) => t.at === v);
      if (tick) return tick.label;
      return chart.x.unit === "quantile" ? (100 * (1 - 1 / v)).toPrecision(5) + " %" : format(v, chart.x.unit);
    };
    const shade = (u) => {
      for (const b of chart.bands || []) {
        const from = Math.max(u.bbox.left, u.valToPos(b.from, "x", true)), to = Math.min(u.bbox.left + u.bbox.width, u.valToPos(b.to, "x", true));
        if (to <= from) continue;
        u.ctx.fillStyle = color("mute-tint");
        u.ctx.fillRect(from, u.bbox.top, to - from, u.bbox.height);
      }
    };
    const options = {
      width: Math.max(280, plot.clientWidth), height: 250, hooks: { drawClear: [shade] },
      scales: { x: scale(chart.x, false), y: scale(chart.y, true) },
      axes: [{ ...axis(chart.x, 48), label: chart.x.label, labelSize: 18, labelFont: "12px system-ui, sans-serif" }, axis(chart.y, 64)],
      series: [{ label: chart.x.label, value: (u, v) => (v == null ? "–" : place(v)) }, ...chart.series.map((s, i) => ({
        label: s.name, stroke: color("l" + (i % dashes.length)), dash: dashes[i % dashes.length], width: 2, spanGaps: true, points: { show: s.points.length === 1 }, value: (u, v) => format(v, chart.y.unit),
      }))],
    };
    plot.classList.add("live");
    drawn.push({ id: chart.id, plot, u: new uPlot(options, joined, plot) });
  };
  const drawAll = () => {
    for (const d of drawn.splice(0)) d.u.destroy();
    for (const chart of JSON.parse(data.textContent)) draw(chart);
  };
  if (data && typeof uPlot === "function") {
    drawAll();
    // The event charts brings the columns of charts by their id: [[x…], [y…]…].
    addEventListener("charts", (e) => {
      Object.assign(latest, e.detail);
      for (const d of drawn) if (latest[d.id]) d.u.setData(latest[d.id]);
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
    new ResizeObserver(() => {
      for (const d of drawn) d.u.setSize({ width: Math.max(280, d.plot.clientWidth), height: 250 });
    }).observe(document.body);
  }
  reveal();
})();

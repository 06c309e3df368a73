// Draws the charts of a pool's page, from the numbers that the page has in it, when the page is
// shown again and when the choice of colours, the scheme or the width changes.
"use strict";
(() => {
  const MAX_ROWS = 60;
  const dark = matchMedia("(prefers-color-scheme: dark)");

  // Plotly reads a little HTML in texts: escaped, names of players are shown as they are.
  const plain = (name) => name.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const short = (name) => ([...name].length > 14 ? [...name].slice(0, 13).join("") + "…" : name);
  const percent = ".0%";

  function colours() {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(`--${name}`).trim();
    return Object.fromEntries(
      ["ink", "soft", "rule", "ours", "random", "good", "zero", "cold", "hot", "card"].map((name) => [name, of(name)]));
  }

  function layout(look, more) {
    const axis = { gridcolor: look.rule, zerolinecolor: look.rule, linecolor: look.rule, automargin: true };
    const { xaxis, yaxis, ...rest } = more;
    return {
      font: { family: "inherit", size: 13, color: look.ink },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      margin: { l: 8, r: 12, t: 8, b: 8 }, showlegend: false, dragmode: false,
      hoverlabel: { bgcolor: look.card, bordercolor: look.rule, font: { color: look.ink } },
      xaxis: { ...axis, fixedrange: true, ...xaxis }, yaxis: { ...axis, fixedrange: true, ...yaxis },
      ...rest,
    };
  }

  function course(all, look) {
    const { games, low, share, high, random, best } = all.course;
    if (!games.length) return null;
    const told = random.some((each) => each !== null);
    const mode = games.length > 1 ? "lines" : "markers";
    const line = (y, more) => ({ type: "scatter", x: games, y, mode, ...more });
    const traces = [
      line(high, { line: { width: 0 }, hoverinfo: "skip" }),
      line(low, { line: { width: 0 }, fill: "tonexty", fillcolor: faded(look.ours), hoverinfo: "skip" }),
      line(told ? random : games.map(() => all.random), {
        name: told ? "random pairing" : "random pairing of the current players",
        line: { color: look.random, dash: "dash", width: 2 }, marker: { color: look.random },
        hovertemplate: "random pairing %{y:.1%}<extra></extra>" }),
      line(best, { name: "best matching", line: { color: look.good, dash: "dot", width: 2 },
        marker: { color: look.good }, hovertemplate: "best matching %{y:.1%}<extra></extra>",
        visible: best.some((each) => each !== null) }),
      line(share, { name: "played", mode: "lines+markers", line: { color: look.ours, width: 2.5 },
        marker: { size: 6, color: look.ours }, hovertemplate: "played %{y:.1%}<extra></extra>" }),
    ];
    return [traces.map((each) => ({ showlegend: Boolean(each.name), ...each })), layout(look, {
      hovermode: "x unified", showlegend: true, legend: { orientation: "h", x: 0, y: 1.03, yanchor: "bottom" },
      xaxis: { title: { text: "games decided" }, rangemode: "tozero" },
      yaxis: { title: { text: "share of games", standoff: 12 }, tickformat: percent, rangemode: "tozero" },
    })];
  }

  // Who gains and who pays: the share of each tenth of the players, beside that of random pairing.
  function tenths(all, look) {
    const { names, played, random } = all.tenths;
    if (!names.length) return null;
    const bars = (name, y, colour) => ({ type: "bar", name, x: names, y, marker: { color: colour },
      hovertemplate: `${name} %{y:.1%}<extra></extra>` });
    const told = random.some((each) => each !== null) ? [bars("random pairing", random, look.random)] : [];
    return [[...told, bars("played", played, look.ours)], layout(look, {
      barmode: "group", bargap: 0.25, hovermode: "x unified", showlegend: true,
      legend: { orientation: "h", x: 0, y: 1.03, yanchor: "bottom" },
      xaxis: { type: "category", title: { text: "players by acceptance rate, lowest first" }, showgrid: false },
      yaxis: { title: { text: "share of games", standoff: 12 }, tickformat: percent, rangemode: "tozero" },
    })];
  }

  function faded(colour) {
    const number = parseInt(colour.slice(1), 16);
    return `rgba(${number >> 16}, ${(number >> 8) & 255}, ${number & 255}, 0.2)`;
  }

  function rates(all, look, width) {
    const { first, players, rate, low, high } = all.rates;
    if (!players.length) return null;
    const place = players.map((_, x) => first + x), few = width / players.length >= 22;
    return [[{
      type: "scatter", mode: "markers", x: place, y: rate, text: players.map(plain),
      customdata: low.map((each, x) => [each, high[x]]),
      error_y: { type: "data", symmetric: false, array: high.map((each, x) => each - rate[x]),
        arrayminus: low.map((each, x) => rate[x] - each), color: faded(look.ours).replace("0.2", "0.55"),
        thickness: few ? 2 : 1, width: few ? 4 : 0 },
      marker: { color: look.ours, size: few ? 8 : 4 },
      hovertemplate: "%{text}<br>%{y:.1%} (%{customdata[0]:.1%} to %{customdata[1]:.1%})<extra></extra>",
    }], layout(look, {
      xaxis: few
        ? { tickvals: place, ticktext: players.map((each) => plain(short(each))), tickangle: -45, showgrid: false, zeroline: false }
        : { title: { text: "players, best first" }, showgrid: false, zeroline: false, rangemode: first === 1 ? "tozero" : "normal" },
      yaxis: { title: { text: "acceptance rate", standoff: 12 }, tickformat: percent, range: [0, 1.02] },
    })];
  }

  // With many players the map shows groups of neighbours in the order of their rates.
  function couples(all, look, width) {
    const { players, cells } = all.couples;
    if (!cells.length) return null;
    const what = document.querySelector("input[name=couples]:checked").value;
    const group = players.length > MAX_ROWS ? Math.ceil(players.length / MAX_ROWS) : 1;
    const size = Math.ceil(players.length / group), names = players.map(plain);
    const table = () => Array.from({ length: size }, () => new Array(size).fill(0));
    const proposed = table(), played = table();
    for (const [one, other, tries, games] of cells) {
      const x = Math.floor(one / group), y = Math.floor(other / group);
      for (const [row, column] of x === y ? [[x, y]] : [[x, y], [y, x]]) {
        proposed[row][column] += tries;
        played[row][column] += games;
      }
    }
    const shown = { proposed: (x, y) => proposed[x][y], played: (x, y) => played[x][y],
      share: (x, y) => played[x][y] / proposed[x][y] }[what];
    const rows = [...proposed.keys()];
    const z = rows.map((x) => rows.map((y) => (proposed[x][y] ? shown(x, y) : null)));
    const label = (x) => (group === 1 ? names[x]
      : `players ${x * group + 1} to ${Math.min((x + 1) * group, players.length)}`);
    const text = rows.map((x) => rows.map((y) =>
      `${label(x)} – ${label(y)}<br>proposed ${proposed[x][y]}, played ${played[x][y]}`));
    const named = group === 1 && width / size >= 22, place = rows.map((x) => x * group + (group + 1) / 2);
    const ticks = named ? { tickvals: place, ticktext: players.map((each) => plain(short(each))) } : {};
    const gap = size <= 30 ? 1 : 0, most = what === "share" ? 1 : Math.max(1, ...z.flat());
    // 0 has a colour of its own, or it would look like a couple that was never proposed.
    const zero = (what === "share" ? 1e-9 : 0.5) / most;
    const told = { proposed: "games proposed", played: "games played", share: "share played" }[what];
    const scale = what === "share" ? { tickformat: percent, dtick: 0.25 } : { tickformat: "d", dtick: integerStep(most) };
    const bar = width < 480 ? { orientation: "h", x: 0.5, y: -0.03, yanchor: "top", len: 0.9,
      title: { text: told, side: "bottom" } } : { len: 0.6, title: { text: told, side: "right" } };
    const title = named ? {} : { title: { text: "players, best first" } };
    return [[{
      type: "heatmap", x: place, y: place, z, text, hoverongaps: false, xgap: gap, ygap: gap,
      zmin: 0, zmax: most, hovertemplate: "%{text}<extra></extra>",
      colorscale: [[0, look.zero], [zero, look.zero], [zero, look.cold], [1, look.hot]],
      colorbar: { thickness: 12, outlinewidth: 0, tick0: 0, ...bar, ...scale },
    }], layout(look, {
      xaxis: { side: "top", showgrid: false, zeroline: false, tickangle: named ? -45 : 0, ...ticks, ...title },
      yaxis: { autorange: "reversed", showgrid: false, zeroline: false, ...ticks, ...title },
    })];
  }

  // The step between ticks is an integer (1, 2, 5, 10, 20 and so on) that gives at most six of them.
  function integerStep(most) {
    for (let ten = 1; ; ten *= 10) {
      for (const step of [1, 2, 5]) if (most <= 5 * step * ten) return step * ten;
    }
  }

  const charts = { course, tenths, rates, couples };

  function draw() {
    const stored = document.getElementById("charts");
    if (!stored || !window.Plotly) return;
    const all = JSON.parse(stored.textContent), look = colours();
    document.querySelectorAll("[data-chart]").forEach((chart) => {
      const made = charts[chart.dataset.chart](all, look, chart.parentElement.clientWidth);
      chart.hidden = made === null;
      if (made) Plotly.react(chart, made[0], made[1], { displayModeBar: false, responsive: true });
    });
  }

  document.addEventListener("pairup:shown", draw);
  document.addEventListener("change", (event) => {
    if (event.target.name === "couples") draw();
  });
  dark.addEventListener("change", draw);
  let wide = innerWidth;
  addEventListener("resize", () => {
    if (wide !== innerWidth) draw();  // labels may have room now, or lack it
    wide = innerWidth;
  });
  draw();
})();

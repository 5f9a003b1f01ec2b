// A page that asks again and again how things go may be left while it asks: that is no error, and nobody is told of one.
"use strict";
{
  const under_way = new Set();
  addEventListener("htmx:beforeSend", ({ detail: { xhr } }) => under_way.add(xhr));
  addEventListener("htmx:afterRequest", ({ detail: { xhr } }) => under_way.delete(xhr));
  addEventListener("beforeunload", () => under_way.forEach((xhr) => (xhr.onabort = xhr.onerror = null)));
}
// Bars that can be read off one by one: what the table beside them says, in place of those that the server drew.
if (globalThis.echarts) {
  let drawn = [];
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const place = (figure) => {
    const found = figure.querySelector(".plot") ?? document.createElement("div");
    found.className = "plot";
    found.setAttribute("aria-hidden", "true"); // the table says the same
    figure.querySelector("svg")?.replaceWith(found);
    return found;
  };
  const draw = () => {
    drawn.forEach((chart) => chart.dispose());
    drawn = [...document.querySelectorAll("figure.chart")].map((figure) => {
      const rows = [...figure.parentElement.querySelectorAll("tbody tr")];
      const axis = { axisLabel: { color: colour("--soft") }, axisLine: { lineStyle: { color: colour("--faint") } }, splitLine: { lineStyle: { color: colour("--faint") } } };
      const chart = echarts.init(place(figure), null, { renderer: "canvas" });
      chart.setOption({
        animation: false,
        grid: { left: 8, right: 8, top: 12, bottom: 8, containLabel: true },
        tooltip: { trigger: "axis", renderMode: "richText", confine: true }, // the policy allows no styles in markup
        xAxis: { ...axis, type: "category", data: rows.map((row) => row.cells[0].textContent) },
        yAxis: { ...axis, type: "value", minInterval: 1 },
        series: [{ type: "bar", barMaxWidth: 48, itemStyle: { color: colour("--first") }, data: rows.map((row) => Number(row.querySelector("data").value)) }],
      });
      return chart;
    });
  };
  draw();
  addEventListener("htmx:afterSettle", draw);
  addEventListener("resize", () => drawn.forEach((chart) => chart.resize()));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}

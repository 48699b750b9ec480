// Charts by uPlot, with the same numbers as a table for people who cannot use the picture.
import { html, useEffect, useRef, loadScript, cssValue, useTheme, LOCALE } from "./ui.js";

const HEIGHT = 200;

export function Chart({ title, days, series, format = (value) => String(value) }) {
  const box = useRef(null);
  const theme = useTheme();
  useEffect(() => {
    let plot = null;
    let observer = null;
    let gone = false;
    loadScript("/ui/static/vendor/uplot.js").then(() => {
      if (gone || !box.current) return;
      const axis = {
        stroke: cssValue("--muted"),
        grid: { stroke: cssValue("--line"), width: 1 },
        ticks: { show: false },
        font: "11px system-ui, sans-serif",
      };
      // Over more than a year, the same day and month come twice.
      const spans = Date.parse(days[days.length - 1]) - Date.parse(days[0]) > 330 * 86400000;
      const dayOrYear = { [spans ? "year" : "day"]: "numeric", month: "short" };
      const options = {
        width: box.current.clientWidth || 300,
        height: HEIGHT,
        padding: [8, 12, 0, 0],
        cursor: { points: { size: 7 } },
        legend: { show: false },
        scales: { x: { time: true }, y: { range: (_, low, high) => [0, Math.max(high * 1.08, low, 0.001)] } },
        axes: [
          {
            ...axis,
            size: 34,
            gap: 11,
            space: 70,
            values: (_, ticks) => ticks.map((at) => new Date(at * 1000).toLocaleDateString(LOCALE, dayOrYear)),
          },
          { ...axis, size: 52, values: (_, ticks) => ticks.map(format) },
        ],
        series: [
          {},
          ...series.map((one) => ({
            label: one.label,
            stroke: cssValue(one.colour),
            width: 2,
            fill: one.fill ? cssValue(one.fill) : undefined,
            points: { show: days.length < 40, size: 5, fill: cssValue("--surface") },
          })),
        ],
      };
      const times = days.map((day) => Date.parse(`${day}T12:00:00`) / 1000);
      plot = new window.uPlot(options, [times, ...series.map((one) => one.values)], box.current);
      observer = new ResizeObserver(() => plot.setSize({ width: box.current.clientWidth, height: HEIGHT }));
      observer.observe(box.current);
    });
    return () => {
      gone = true;
      observer && observer.disconnect();
      plot && plot.destroy();
    };
  }, [days, series, theme]);
  return html`<figure class="chart">
    <div class="chart-box" ref=${box} role="img" aria-label=${`Chart: ${title}. The same numbers are in the table below.`}>
    </div>
    <figcaption class="legend">${series.map((one) => html`<span><i class=${`swatch ${one.colour.slice(2)}`}></i>
      ${one.label}</span>`)}
    <details><summary>Table</summary><div class="scroll" tabindex="0" role="region" aria-label=${title}><table><thead>
      <tr><th scope="col">Day</th>${series.map((one) => html`<th scope="col" class="num">${one.label}</th>`)}</tr></thead>
    <tbody>${days.map((day, n) => html`<tr><th scope="row">${day}</th>${series.map((one) => html`<td class="num">
      ${format(one.values[n])}</td>`)}</tr>`).reverse()}</tbody></table></div></details></figcaption></figure>`;
}

"use strict";
// Draws the charts, moves the timeline's window and sorts the table. The log's text gets here as data only.
(() => {
  const NARROWEST = 280;
  const boxes = new Map([...document.querySelectorAll("[data-chart]")].map((box) => [box.dataset.chart, box]));
  const views = new Map();
  // Nothing may be fetched: the page's policy forbids it, and this says so before it is tried.
  const loader = vega.loader();
  loader.load = () => Promise.reject(new Error("a report loads nothing"));
  loader.sanitize = () => Promise.reject(new Error("a report links nowhere"));

  const widthOf = (box) => Math.max(box.clientWidth, NARROWEST);

  const draw = (name, specification) => {
    const box = boxes.get(name);
    if (!box) return Promise.resolve();
    const view = new vega.View(vega.parse(specification, null, { ast: true }), {
      container: box, expr: vega.expressionInterpreter, hover: false, loader, renderer: "svg",
    });
    views.set(name, view);
    return view.width(widthOf(box)).runAsync();
  };

  const fit = () => views.forEach((view, name) => {
    const width = widthOf(boxes.get(name));
    if (view.width() !== width) view.width(width).runAsync();
  });

  const STEPS = {
    all: (from, to, whole) => [0, whole],
    in: (from, to) => [from + (to - from) / 4, to - (to - from) / 4],
    out: (from, to) => [from - (to - from) / 2, to + (to - from) / 2],
    earlier: (from, to) => [from - (to - from) / 2, to - (to - from) / 2],
    later: (from, to) => [from + (to - from) / 2, to + (to - from) / 2],
  };

  const zoom = (how) => ["timeline", "alive"].forEach((name) => {
    const view = views.get(name);
    if (!view) return;
    const whole = view.signal("whole");
    const [from, to] = STEPS[how](view.signal("from"), view.signal("to"), whole);
    const length = Math.min(to - from, whole);
    const start = Math.min(Math.max(from, 0), whole - length);
    view.signal("from", start).signal("to", start + length).runAsync();
  });

  const sort = (button) => {
    const heading = button.closest("th");
    const table = button.closest("table");
    const descending = heading.getAttribute("aria-sort") !== "descending";
    const column = [...heading.parentNode.children].indexOf(heading);
    const by = (row) => Number(row.children[column].dataset.by);
    const rows = [...table.tBodies[0].rows];
    rows.sort((one, other) => (descending ? by(other) - by(one) : by(one) - by(other)));
    table.tBodies[0].append(...rows);
    table.querySelectorAll("[aria-sort]").forEach((each) => each.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
    document.getElementById("sorted").textContent =
      `Sorted by ${button.textContent}, ${descending ? "largest" : "smallest"} first`;
  };

  document.querySelectorAll("[data-zoom]").forEach((button) =>
    button.addEventListener("click", () => zoom(button.dataset.zoom)));
  document.querySelectorAll("[data-sort]").forEach((button) =>
    button.addEventListener("click", () => sort(button)));
  window.addEventListener("resize", fit);
  window.addEventListener("beforeprint", () =>
    document.querySelectorAll("main details").forEach((each) => { each.open = true; }));

  const specifications = JSON.parse(document.getElementById("charts").textContent);
  Promise.all(Object.entries(specifications).map(([name, each]) => draw(name, each)))
    .then(() => { document.documentElement.dataset.drawn = String(views.size); });
})();

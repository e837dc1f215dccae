"use strict";
(() => {
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const filter = document.getElementById("filter"), machine = document.getElementById("machine"), theme = document.getElementById("theme");
  // Each mark of a figure has its text as a title; a row's text is that of its cells, and of the suite of a heat map.
  const items = all("svg .m, table.sort tbody tr").map((item) => {
    const map = item.closest("details:has(> .scroll > .heat)");
    const text = (item.querySelector("title") || item).textContent + (map ? " " + map.querySelector("summary").textContent : "");
    const letter = item.tagName !== "TR" ? text.split(" ")[0] : map ? null : item.cells[0].textContent;
    return { item, letter, text: text.toLowerCase(), isCase: item.closest("#cases") !== null };
  });

  // Shows the rows and fades the marks: those of the machine, whose text has all words of the filter, remain.
  function apply() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const { item, letter, text, isCase } of items) {
      const fits = words.every((word) => text.includes(word)) && (letter === null || !machine.value || machine.value === letter);
      if (item.tagName === "TR") item.hidden = !fits;
      else item.classList.toggle("off", !fits);
      shown += fits && isCase;
    }
    document.getElementById("count").textContent = `${shown} of ${all("#cases tbody tr").length} cases`;
  }

  function value(row, column) {
    const cell = row.cells[column];
    if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
    return cell.classList.contains("n") ? -Infinity : cell.textContent;
  }

  function sort(head) {
    const table = head.closest("table"), body = table.tBodies[0], column = head.cellIndex;
    const down = head.getAttribute("aria-sort") === "ascending";
    const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b
      : String(a).localeCompare(String(b), undefined, { numeric: true }));
    const rows = [...body.rows].map((row) => [value(row, column), row]);
    rows.sort((a, b) => (down ? compare(b[0], a[0]) : compare(a[0], b[0])));
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    body.append(...rows.map((pair) => pair[1]));
  }

  // A touch or a click on a mark writes its text below the figure.
  function tell(event) {
    const mark = event.target.closest("svg .m");
    if (mark === null) return;
    const figure = mark.closest("figure");
    all(".hit", figure).forEach((other) => other.classList.remove("hit"));
    mark.classList.add("hit");
    figure.querySelector("output").textContent = mark.querySelector("title").textContent;
  }

  filter.addEventListener("input", apply);
  machine.addEventListener("input", apply);
  theme.addEventListener("change", () => { document.documentElement.dataset.theme = theme.value; });
  document.addEventListener("click", tell);
  for (const head of all("table.sort th[scope=col]")) head.addEventListener("click", () => sort(head));
  apply();
})();

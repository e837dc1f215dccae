"use strict";
(() => {
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const control = (id) => document.getElementById(id);
  const filter = control("filter"), machine = control("machine"), theme = control("theme");
  const cases = all("#cases tbody tr"); // in their first order, by which the marks of cases are numbered

  // Describes a case: machine, suite, name, type, then time, rate and the best peer.
  function describe(row) {
    const [letter, suite, name, type, time, interval, rate, ratio, peer, share, ceiling] = [...row.cells].map((c) => c.textContent);
    return `${letter} ${suite}: ${name}, ${type}: ${time} (${interval})` + (rate && `, ${rate}`)
      + (ratio && `, ${ratio} times as fast as ${peer}`) + (share && `; ${share} of the attainable, limited by ${ceiling}`);
  }

  const rowOf = (mark) => (mark.dataset.c === undefined ? null : cases[mark.dataset.c]);
  const textOf = (mark) => (rowOf(mark) ? describe(rowOf(mark)) : mark.querySelector("title").textContent);

  // Everything that the filter applies to, with its machine, if it is of one. Heat maps are of several; their suite counts.
  const items = all("svg .m, table.sort tbody tr").map((item) => {
    const map = item.closest("details:has(> .scroll > .heat)"), row = item.tagName === "TR" ? item : rowOf(item);
    const text = row ? row.textContent + (map ? " " + map.querySelector("summary").textContent : "") : textOf(item);
    const letter = map ? null : row ? row.cells[0].textContent : text.split(" ")[0];
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
    control("count").textContent = `${shown} of ${cases.length} cases`;
  }

  function value(row, column) {
    const cell = row.cells[column];
    if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
    return cell.classList.contains("n") ? -Infinity : cell.textContent;
  }

  function sort(head) {
    const body = head.closest("table").tBodies[0], column = head.cellIndex;
    const down = head.getAttribute("aria-sort") === "ascending";
    const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b
      : String(a).localeCompare(String(b), undefined, { numeric: true }));
    const rows = [...body.rows].map((row) => [value(row, column), row]);
    rows.sort((a, b) => (down ? compare(b[0], a[0]) : compare(a[0], b[0])));
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    body.append(...rows.map((pair) => pair[1]));
  }

  // A mark under the pointer gets its text as a title; a touch or a click also writes it below the figure.
  function tell(event) {
    const mark = event.target.closest("svg .m");
    if (mark === null) return;
    if (mark.querySelector("title") === null) {
      const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
      title.textContent = textOf(mark);
      mark.append(title);
    }
    if (event.type !== "click") return;
    const figure = mark.closest("figure");
    all(".hit", figure).forEach((other) => other.classList.remove("hit"));
    mark.classList.add("hit");
    figure.querySelector("output").textContent = textOf(mark);
  }

  filter.addEventListener("input", apply);
  machine.addEventListener("input", apply);
  theme.addEventListener("change", () => { document.documentElement.dataset.theme = theme.value; });
  document.addEventListener("click", tell);
  document.addEventListener("pointerover", tell);
  for (const head of all("table.sort th[scope=col]")) head.addEventListener("click", () => sort(head));
  apply();
})();

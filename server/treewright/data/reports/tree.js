"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const nodes = new Map(data.tree.map((node) => [node.id, node]));
  const folded = new Set(data.tree.length > 400 ? data.tree.filter((n) => n.parent !== null && n.children.length).map((n) => n.id) : []);
  const at = (id) => document.getElementById(id);
  const make = (tag, text, kind) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };
  // Words between backquotes are shown as code; everything is set as text, nothing is parsed as markup.
  const prose = (tag, text, kind) => {
    const made = make(tag, undefined, kind);
    String(text).split(/`([^`\n]+)`/).forEach((part, index) => made.append(index % 2 ? make("code", part) : part));
    return made;
  };
  const shown = { rows: [], selected: "0", limit: 500 };
  const colour = (node) => (node.parent === null ? "root" : node.tag ? "tagged" : node.role || "none");

  at("title").textContent = data.title;
  const verdicts = Object.entries(data.verdicts).map(([label, count]) => `${count} ${label}`).join(", ");
  at("figures").textContent = `${data.status}${data.reason ? " (" + data.reason + ")" : ""} · ${data.nodes} nodes · ${verdicts} · citations that hold: ${data.citations.held} of ${data.citations.all}`;
  const option = (select, value, text) => { const made = make("option", text || value); made.value = value; at(select).append(made); };
  Object.keys(data.verdicts).forEach((label) => option("verdict", label));
  [["MERGED_INTO", "merged"], ["SUPERSEDED_BY", "superseded"], ["UNRESOLVED", "unresolved"]].forEach(([tag, text]) => option("verdict", tag, text));
  "ABCDEFGHIJKLS".split("").forEach((letter) => { if (data.tree.some((n) => n.framing === letter)) option("framing", letter, "framing " + letter); });

  const matches = (node) => {
    const text = at("text").value.trim().toLowerCase();
    const verdict = at("verdict").value;
    const framing = at("framing").value;
    if (verdict && !(node.tag ? node.tag.startsWith(verdict) : node.verdict === verdict)) return false;
    if (framing && node.framing !== framing) return false;
    return !text || (node.id + " " + node.statement + " " + node.position + " " + node.cwe).toLowerCase().includes(text);
  };
  const filtering = () => at("text").value.trim() || at("verdict").value || at("framing").value || at("sort").value;

  const rows = () => {
    if (filtering()) {
      const found = data.tree.filter((n) => n.parent !== null && matches(n)).map((node) => ({ node, depth: 0 }));
      if (at("sort").value) found.sort((a, b) => b.node.sum - a.node.sum);
      return found;
    }
    const found = [];
    const walk = (id, depth) => {
      const node = nodes.get(id);
      found.push({ node, depth });
      if (!folded.has(id)) node.children.forEach((child) => walk(child, depth + 1));
    };
    walk("0", 0);
    return found;
  };

  const draw = () => {
    const tree = at("tree");
    const top = tree.scrollTop;
    shown.rows = rows();
    tree.replaceChildren();
    if (!shown.rows.length) tree.append(make("div", "No node fits this filter.", "empty"));
    for (const { node, depth } of shown.rows.slice(0, shown.limit)) {
      const row = make("div", undefined, "row");
      row.style.paddingLeft = `${10 + depth * 16}px`;
      row.dataset.id = node.id;
      row.setAttribute("role", "treeitem");
      row.setAttribute("aria-level", depth + 1);
      row.setAttribute("aria-selected", node.id === shown.selected);
      if (node.children.length && !filtering()) row.setAttribute("aria-expanded", !folded.has(node.id));
      const dot = make("span", undefined, "dot");
      dot.style.background = node.tag ? "transparent" : `var(--${colour(node)})`;
      dot.style.borderColor = `var(--${colour(node)})`;
      dot.title = node.state;
      row.append(make("span", node.children.length && !filtering() ? (folded.has(node.id) ? "▸" : "▾") : "", "twist"), dot, make("span", node.id, "id"), make("span", node.sum || "", "sum"), make("span", node.statement, "say"));
      row.title = `${node.id} ${node.state}: ${node.statement}`;
      tree.append(row);
    }
    if (shown.rows.length > shown.limit) {
      const more = make("div", `${shown.rows.length - shown.limit} more: scroll or filter`, "empty");
      tree.append(more);
    }
    tree.scrollTop = top;
  };

  const value = (content) => {
    if (!Array.isArray(content)) return prose("p", content);
    const list = make("ul");
    content.forEach((item) => list.append(prose("li", item)));
    return list;
  };
  const place = (citation) => citation.kind === "url" ? citation.url : citation.kind === "command" ? "$ " + citation.command : citation.path + (citation.start ? ":" + citation.start + (citation.end > citation.start ? "-" + citation.end : "") : "");

  const read = (id) => {
    shown.selected = id;
    const node = nodes.get(id);
    const main = at("node");
    main.replaceChildren(make("h2", `${node.id} ${node.parent === null ? "" : node.state}`), prose("p", node.statement));
    const facts = [];
    if (node.sum) facts.push(Object.entries(node.scores).map(([k, v]) => `${k} ${v}`).join("  ") + `  sum ${node.sum}`);
    if (node.position) facts.push(node.position);
    if (node.cwe) facts.push(node.cwe);
    if (node.reasons.length) facts.push("because " + node.reasons.join("; "));
    facts.forEach((fact) => main.append(make("p", fact, "facts")));
    for (const [name, content] of Object.entries(node.fields)) main.append(make("h3", name), value(content));
    const cited = (title, list) => {
      if (!list.length) return;
      main.append(make("h3", title));
      const ul = make("ul");
      list.forEach((each) => {
        const li = make("li");
        li.append(make("code", place(each.citation)), " ", make("span", each.state, "state " + each.state));
        if (each.reason) li.append(" " + each.reason);
        if (each.citation.quote) li.append(make("pre", each.citation.quote));
        ul.append(li);
      });
      main.append(ul);
    };
    cited("citations", node.citations);
    cited("external cross-check", node.external);
    if (node.numeric_checks.length) main.append(make("h3", "numeric checks"), value(node.numeric_checks.map((n) => `${n.check.expression} = ${n.check.expected}: ${n.state} ${n.observed}`)));
    if (node.violations.length) main.append(make("h3", "violations"), value(node.violations.map((v) => `${v.rule} ${v.field}: ${v.message}`)));
    if (node.edits.length) main.append(make("h3", "edits"));
    node.edits.forEach((edit) => main.append(make("pre", `${edit.path}:${edit.start}\n` + edit.old.replace(/^(?=.)/gm, "- ") + (edit.old.endsWith("\n") ? "" : "\n") + edit.new.replace(/^(?=.)/gm, "+ "))));
    main.scrollTop = 0;
    for (const row of at("tree").querySelectorAll(".row")) row.setAttribute("aria-selected", row.dataset.id === id);
    if (location.hash.slice(1) !== id) history.replaceState(null, "", "#" + id);
  };

  const toggle = (id, fold) => {
    if (!nodes.get(id).children.length) return;
    if (fold === undefined ? !folded.has(id) : fold) folded.add(id); else folded.delete(id);
    draw();
  };
  at("tree").addEventListener("click", (event) => {
    const row = event.target.closest(".row");
    if (!row) return;
    if (event.target.classList.contains("twist")) toggle(row.dataset.id);
    read(row.dataset.id);
  });
  at("tree").addEventListener("scroll", (event) => {
    const box = event.target;
    if (shown.rows.length > shown.limit && box.scrollTop + box.clientHeight > box.scrollHeight - 400) { shown.limit += 500; draw(); }
  });
  at("tree").addEventListener("keydown", (event) => {
    const index = shown.rows.findIndex(({ node }) => node.id === shown.selected);
    const node = nodes.get(shown.selected);
    const move = (to) => {
      const row = shown.rows[Math.max(0, Math.min(shown.rows.length - 1, to))];
      if (!row) return;
      read(row.node.id);
      const drawn = at("tree").querySelector(`[data-id="${CSS.escape(row.node.id)}"]`);
      if (drawn) drawn.scrollIntoView({ block: "nearest" });
    };
    const keys = {
      ArrowDown: () => move(index + 1), ArrowUp: () => move(index - 1), Home: () => move(0), End: () => move(shown.rows.length - 1),
      ArrowRight: () => (folded.has(node.id) ? toggle(node.id, false) : move(index + 1)),
      ArrowLeft: () => (node.children.length && !folded.has(node.id) && node.parent !== null ? toggle(node.id, true) : move(shown.rows.findIndex((r) => r.node.id === node.parent))),
      Enter: () => at("node").focus(),
    };
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });
  ["text", "verdict", "framing", "sort"].forEach((id) => at(id).addEventListener("input", () => { shown.limit = 500; draw(); }));
  at("all").addEventListener("click", () => { folded.clear(); draw(); });
  at("none").addEventListener("click", () => { data.tree.forEach((n) => n.parent !== null && n.children.length && folded.add(n.id)); draw(); });
  draw();
  read(nodes.has(location.hash.slice(1)) ? location.hash.slice(1) : "0");
})();

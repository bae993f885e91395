// The game's tree as a list to unfold: arrow keys as in any tree, bars for how likely each step is.
import { clear, h } from "gs2/dom.js";
import { say } from "gs2/words.js";
import { count, percent, signed } from "gs2/explore-words.js";
import { pair } from "gs2/explore-plots.js";

let trees = 0;

/** Return the words for who acts at a node. */
function who(player) {
  return player === "chance" || player === "end" ? say(`x.${player}`) : say("x.player", { n: player });
}

/** Return numbers of the children of each node. */
function childrenOf(nodes) {
  const found = nodes.map(() => []);
  nodes.forEach((node, number) => {
    if (node.parent !== null) found[node.parent].push(number);
  });
  return found;
}

/** Return what is known of a node, as a list of terms. */
function details(tree, node, player) {
  const infoset = node.infoset === null ? null : tree.infosets[node.infoset];
  const term = (name, ...value) => [h("dt", {}, name), h("dd", {}, value)];
  const change = ([before, after], words) => (words(before) === words(after) ? words(before) : `${words(before)} → ${words(after)}`);
  return [
    h("p", { class: "x-where", lang: "en" }, node.text),
    h(
      "dl", { class: "x-terms" },
      node.probability ? term(say("x.step"), change(node.probability, percent)) : null,
      term(say("x.reach"), change(node.reach, percent)),
      term(say("x.nodeValue", { n: player }), change(node.value, signed)),
      infoset ? term(say("x.infoset"), h("span", { lang: "en" }, infoset.infoset), ` · ${who(infoset.player)} · ${say(infoset.replaced ? "x.replaced" : "x.not")}`) : null,
      infoset ? term(say("x.strategy"), infoset.blueprint.map(percent).join(" / "), infoset.replaced ? ` → ${infoset.refined.map(percent).join(" / ")}` : null) : null,
      node.merged > 1 ? term(say("x.histories"), say("x.merged", { n: count(node.merged) }), node.opponents > 1 ? `; ${say("x.opponents", { n: count(node.opponents) })}` : null) : null,
      node.history ? term(say("x.mark"), marks(node).join(", ")) : null,
      node.children && !node.unfolded ? term("…", say("x.more", { n: count(node.children) })) : null,
    ),
  ];
}

/** Return the marks of a root of the subgame. */
function marks(node) {
  const found = [say(node.generated ? "x.generated" : "x.completes")];
  found.push(say(node.own ? "x.own" : "x.other"));
  if (node.frozen) found.push(say("x.frozen"));
  if (node.summary) found.push(say("x.summary"));
  return found;
}

/**
 * Return a tree to unfold.
 * @param {{nodes: Array, infosets: Array}} tree as `gs2.explore.solve_picture` makes it.
 * @param {number} player who searched. @param {string} label what the tree is called.
 */
export function treeView(tree, player, label) {
  const { nodes } = tree;
  const children = childrenOf(nodes);
  const items = new Map();
  const open = new Set();
  trees += 1;
  const prefix = `x-tree${trees}`;
  const pane = h("div", { class: "x-details", "aria-label": say("x.details"), role: "region", id: `${prefix}-details` });
  const list = h("ul", { role: "tree", class: "x-tree", "aria-label": label, "aria-describedby": pane.id });
  let current = 0;

  function tell(number) {
    const node = nodes[number];
    clear(pane, details(tree, node, player));
    for (const [other, item] of items) {
      item.classList.toggle("x-same", other !== number && node.infoset !== null && nodes[other].infoset === node.infoset);
      item.classList.toggle("x-told", other === number);
    }
  }

  function row(number) {
    const node = nodes[number];
    const title = node.parent === null ? (node.history ? node.text : say("x.start")) : node.action;
    const shares = node.probability || (node.history ? node.reach : null);
    return h(
      "div", { class: "x-row" },
      h("span", { class: "x-twist", "aria-hidden": "true" }, children[number].length ? "▸" : node.children ? "…" : "·"),
      h("span", { class: "x-step", lang: "en" }, title),
      shares ? [pair(shares[0], shares[1]), h("span", { class: "x-shares" }, shares[0] === shares[1] ? percent(shares[0]) : `${percent(shares[0])} → ${percent(shares[1])}`)] : [h("span"), h("span")],
      h("span", { class: `x-who x-who-${node.player}` }, who(node.player)),
      h("span", { class: "x-worth" }, signed(node.value[1], 3)),
    );
  }

  function item(number, level, position, size) {
    const made = h(
      "li",
      {
        role: "treeitem", tabIndex: -1, id: `${prefix}-${number}`, "aria-level": level, "aria-posinset": position, "aria-setsize": size, "aria-selected": "false",
        "aria-expanded": children[number].length ? "false" : null,
        on: {
          focus: () => choose(number, false),
          click: (event) => { event.stopPropagation(); choose(number, true); toggle(number); },
        },
      },
      row(number),
    );
    made.firstChild.addEventListener("pointerenter", () => tell(number));
    items.set(number, made);
    return made;
  }

  function choose(number, focus) {
    items.get(current)?.setAttribute("aria-selected", "false");
    items.get(current)?.setAttribute("tabindex", "-1");
    current = number;
    const made = items.get(number);
    made.setAttribute("tabindex", "0");
    made.setAttribute("aria-selected", "true");
    tell(number);
    if (focus) made.focus({ preventScroll: false });
  }

  function unfold(number) {
    if (!children[number].length || open.has(number)) return;
    open.add(number);
    const made = items.get(number);
    const level = Number(made.getAttribute("aria-level"));
    made.setAttribute("aria-expanded", "true");
    const below = children[number];
    made.append(h("ul", { role: "group" }, below.map((child, index) => item(child, level + 1, index + 1, below.length))));
  }

  function fold(number) {
    if (!open.delete(number)) return;
    const made = items.get(number);
    made.setAttribute("aria-expanded", "false");
    forget(number);
    made.querySelector(":scope > ul").remove();
  }

  function forget(number) {
    for (const child of children[number]) {
      items.delete(child);
      open.delete(child);
      forget(child);
    }
  }

  function toggle(number) {
    if (open.has(number)) fold(number);
    else unfold(number);
  }

  /** Return the items that can be seen, from the top. */
  function visible() {
    return [...list.querySelectorAll("[role=treeitem]")];
  }

  function press(event) {
    const rows = visible();
    const at = rows.indexOf(items.get(current));
    const go = (element) => { if (element) choose(Number(element.id.slice(prefix.length + 1)), true); };
    const moves = {
      ArrowDown: () => go(rows[at + 1]),
      ArrowUp: () => go(rows[at - 1]),
      Home: () => go(rows[0]),
      End: () => go(rows[rows.length - 1]),
      ArrowRight: () => (open.has(current) ? go(items.get(children[current][0])) : unfold(current)),
      ArrowLeft: () => (open.has(current) ? fold(current) : go(items.get(nodes[current].parent))),
      Enter: () => toggle(current),
      " ": () => toggle(current),
      "*": () => rows.filter((other) => other.parentElement === items.get(current).parentElement).forEach((other) => unfold(Number(other.id.slice(prefix.length + 1)))),
    };
    if (event.ctrlKey || event.altKey || event.metaKey || !(event.key in moves)) return;
    event.preventDefault();
    moves[event.key]();
  }

  const roots = nodes.flatMap((node, number) => (node.parent === null ? [number] : []));
  list.append(...roots.map((root, index) => item(root, 1, index + 1, roots.length)));
  list.addEventListener("keydown", press);
  if (roots.length) {
    items.get(roots[0]).setAttribute("tabindex", "0");
    if (roots.length === 1) {
      unfold(roots[0]);
      const likely = [...children[roots[0]]].sort((a, b) => nodes[b].reach[1] - nodes[a].reach[1])[0];
      if (likely !== undefined) unfold(likely);
    }
    current = roots[0];
    tell(current);
  }
  return h("div", { class: "x-treebox" }, list, pane);
}

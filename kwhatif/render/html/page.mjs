// What a page does beyond showing its tables: finding nodes, opening one, playing a story.
// Every text is set as text. Nothing here fetches, stores or evaluates anything.
const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

/** An element; `on…` attributes are listeners, children are nodes or texts. */
function make(tag, attributes = {}, ...children) {
  const made = ["svg", "rect", "path"].includes(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== false && value != null) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child != null));
  return made;
}

// --- the data, unpacked once -----------------------------------------------------------------------------------------

const source = $("data");
const data = source ? JSON.parse(source.textContent) : null;
const text = (number) => data.texts[number];

/** An amount as the tables have it: cores, bytes with a suffix, units. */
function amount(resource, value) {
  if (resource === "cpu") return String(Math.floor(value) / 1000);
  if (resource !== "memory") return value.toLocaleString("en");
  const units = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];
  let at = 0;
  while (value >= 1024 && at < units.length - 1) { value /= 1024; at += 1; }
  return `${Math.floor(value * 100) / 100}${units[at]}`;
}

function nodeOf(number) {
  const [name, place, pool, state, allocatable, used, most, pods] = data.nodes[number];
  return { number, name: text(name), place: text(place), pool: text(pool), state: state.map(text), allocatable, used, most, pods };
}

function* podsOf(node) {
  for (let at = 0; at < node.pods.length; at += 2) {
    const [namespace, workload, priority, requests] = data.groups[node.pods[at]];
    yield { name: node.pods[at + 1], namespace: text(namespace), workload: text(workload), priority, requests };
  }
}

// --- the map ---------------------------------------------------------------------------------------------------------

const MOST_FOUND = 60;
let view = data && data.views[0];
const look = (number) => [...data.looks[view.kinds[number]], view.words[view.kinds[number]]];
const why = (number) => text(view.why[number]);

function bars(node) {
  const landing = Math.max(view.counts[node.number] || 1, 1);
  return data.resources.map((resource, at) => {
    const of = node.allocatable[at], used = node.used[at], need = view.needs[node.number]?.[at] ?? view.requests[at] * landing;
    if (!of && !need) return null;
    const share = of ? 100 / of : 0;
    const filled = Math.min(used * share, 100), wanted = of ? need * share : 100;
    const over = Math.min(Math.max(filled + wanted - 100, 0), 20);
    const after = view.after[node.number]?.[at];
    const said = `${amount(resource, used)} of ${amount(resource, of)} used${need ? `, ${amount(resource, need)} needed` : ""}${after == null ? "" : `, ${amount(resource, after)} in the end`}`;
    const drawn = make("svg", { class: "bar", viewBox: "0 0 120 8", preserveAspectRatio: "none", "aria-hidden": "true" },
      make("rect", { class: "track", width: 100, height: 8 }), make("rect", { class: "used", width: filled, height: after == null ? 8 : 3.5 }),
      after == null ? null : make("rect", { class: "after", y: 4.5, width: Math.min(after * share, 100), height: 3.5 }),
      make("rect", { class: "need", x: filled, width: Math.min(wanted, 100 - filled), height: 8 }),
      make("rect", { class: "over", x: 100, width: over, height: 8 }), make("path", { class: "end", d: "M100 0V8" }));
    return { resource, said, drawn };
  }).filter(Boolean);
}

const amountRow = ({ resource, said, drawn }, seen) => make("div", { class: "amount" },
  make("span", { class: "resource" }, resource.split("/").pop()), drawn, make("span", { class: seen ? "text" : "sr" }, said));

/** What is in a node's button; the template makes the same. */
function cardBody(node) {
  const [, glyph, words] = look(node.number), landing = view.counts[node.number] || 0;
  const state = node.state.length ? ` · ${node.state.join(", ")}` : "";
  return [
    make("span", { class: "glyph", "aria-hidden": "true" }, glyph), make("span", { class: "name" }, node.name),
    landing > 1 || (landing && !why(node.number)) ? make("span", { class: "count" }, `+${landing.toLocaleString("en")}`) : null,
    make("span", { class: "why" }, make("span", { class: "sr" }, `${words}${why(node.number) ? ": " : ""}`), why(node.number)),
    ...bars(node).slice(0, 3).map((each) => amountRow(each)),
    make("span", { class: "foot" }, `${node.pods.length / 2} of ${node.most} pods${state}`),
  ].filter(Boolean);
}

const card = (number) => make("li", { class: `node ${look(number)[0]}`, "data-n": number },
  make("button", { type: "button" }, cardBody(nodeOf(number))));

/** What a node is found by, but for its pods. */
const index = new Map();
function textOf(number) {
  if (!index.has(number)) {
    const node = nodeOf(number);
    index.set(number, [node.name, node.place, node.pool, ...node.state, look(number)[2], why(number)].join("\n").toLowerCase());
  }
  return index.get(number);
}

/** Whether a node has a pod whose name, namespace or workload holds the word: namespaces and workloads are asked once. */
function holds(word) {
  const cut = word.indexOf("/"), right = word.slice(cut + 1);
  const groups = data.groups.map(([namespace, workload]) => {
    const space = text(namespace).toLowerCase();
    if (space.includes(word) || text(workload).toLowerCase().includes(word)) return "found";
    return cut >= 0 && space.endsWith(word.slice(0, cut)) ? "begins" : "";
  });
  return (number) => {
    const pods = data.nodes[number][7];
    for (let at = 0; at < pods.length; at += 2) {
      const group = groups[pods[at]], name = pods[at + 1].toLowerCase();
      if (group === "found" || name.includes(word) || (group && name.startsWith(right))) return true;
    }
    return false;
  };
}

/** Show what holds all that is typed; in slices, between which the browser answers. */
let slice = 0;
function find() {
  cancelAnimationFrame(slice);
  const typed = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  // Of pods only where enough is typed to mean one.
  const wanted = typed.map((word) => [word, word.length > 2 ? holds(word) : () => false]);
  const dense = Boolean(document.querySelector(".map.dense")), found = [], all = document.querySelectorAll(".places [data-n]");
  let at = 0;
  const go = () => {
    for (const end = performance.now() + 8; at < all.length && performance.now() < end; at += 1) {
      const each = all[at], number = Number(each.dataset.n);
      const hit = wanted.every(([word, inPods]) => textOf(number).includes(word) || inPods(number));
      if (hit) found.push(number);
      if (dense) each.classList.toggle("dim", !hit); else each.hidden = !hit;
    }
    if (at < all.length) slice = requestAnimationFrame(go); else showFound(found, all.length, dense, typed.length > 0);
  };
  go();
}

function showFound(found, of, dense, isAsked) {
  for (const part of dense ? [] : document.querySelectorAll(".pool, .place")) {
    part.hidden = isAsked && !part.querySelector("[data-n]:not([hidden])");
  }
  const results = $("results");
  results.hidden = !dense || !isAsked;
  results.replaceChildren(...(results.hidden ? [] : found.slice(0, MOST_FOUND).map(card)));
  const shown = results.hidden || found.length <= MOST_FOUND ? "" : `, the first ${MOST_FOUND} below`;
  $("found").textContent = isAsked ? `${found.length.toLocaleString("en")} of ${of.toLocaleString("en")} nodes${shown}` : "";
}

function show(number) {
  view = data.views[number];
  index.clear();
  for (const each of document.querySelectorAll(".places [data-n]")) {
    const at = Number(each.dataset.n), [kind] = look(at);
    if (each.localName === "li") {
      each.setAttribute("class", `node ${kind}`);
      each.firstElementChild.replaceChildren(...cardBody(nodeOf(at)));
    } else {
      each.setAttribute("class", `cell ${kind}`);
      each.querySelector(".mark")?.remove();
    }
  }
  const counts = {};
  for (const letter of view.kinds) counts[letter] = (counts[letter] || 0) + 1;
  const legend = $("legend");
  for (const each of [...legend.children].filter((item) => item.querySelector(".glyph"))) each.remove();
  legend.prepend(...Object.entries(data.looks).filter(([letter]) => counts[letter]).map(([letter, [kind, glyph]]) =>
    make("li", { class: kind }, make("span", { class: "glyph", "aria-hidden": "true" }, glyph), `${view.words[letter]} `, make("span", { class: "number" }, counts[letter].toLocaleString("en")))));
  const parts = { need: view.requests.some(Boolean) || Object.keys(view.needs).length > 0, after: Object.keys(view.after).length > 0 };
  parts.over = parts.need && (document.querySelector(".map.dense") || [...document.querySelectorAll(".places .over")].some((each) => Number(each.getAttribute("width")) > 0));
  for (const each of legend.querySelectorAll("[data-key]")) each.hidden = !parts[each.dataset.key];
  find();
}

// --- one node --------------------------------------------------------------------------------------------------------

const MOST_PODS = 100;
const codeOf = (name) => make("code", { class: name.length > 60 && "long" }, name);
const row = (cells, tag = "td") => make("tr", {}, cells.map((cell, at) =>
  make(at || tag === "th" ? tag : "th", { scope: tag === "th" ? "col" : at ? null : "row", class: /^-?[\d.]+\w*$/.test(cell) && "number" }, cell)));
const table = (caption, titles, rows) => make("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": caption },
  make("table", {}, make("caption", { class: "sr" }, caption), make("thead", {}, row(titles, "th")), make("tbody", {}, rows)));

function* behind(number) {
  const node = nodeOf(number), [kind, glyph, words] = look(number);
  yield make("button", { type: "button", class: "close", click: () => $("node").close() }, "Close");
  yield make("h2", { id: "node-title", tabindex: -1 }, node.name);
  const about = [node.place && `${node.place}`, node.pool && `pool ${node.pool}`, ...node.state, `${node.pods.length / 2} of ${node.most} pods`];
  yield make("p", { class: "faint" }, about.filter(Boolean).join(" · "));
  if (kind !== "none") yield make("p", { class: `strong ${kind}` }, make("span", { class: "glyph" }, `${glyph} `), `${words}${why(number) ? `: ${why(number)}` : ""}`);
  const evidence = view.evidence[number] || [];
  if (evidence.length) yield make("ul", {}, evidence.map((each) => make("li", {}, text(each))));
  yield make("h3", {}, "Room");
  yield make("div", {}, bars(node).map((each) => amountRow(each, true)));
  yield* scores(view.scores[number]);
  yield* eviction(view.candidates[number]);
  yield* podTable(node);
}

function* scores(found) {
  if (!found) return;
  const total = found.reduce((sum, each) => sum + each, 0) || 1;
  let from = 0;
  yield make("h3", {}, `Score ${found.reduce((sum, each) => sum + each, 0).toLocaleString("en")}`);
  yield make("svg", { class: "stack", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" }, found.map((each, at) => {
    const drawn = make("rect", { class: `s${at % 9}`, x: from, width: Math.max(each / total * 100 - .3, 0), height: 10 });
    from += each / total * 100;
    return drawn;
  }));
  yield table("Scores", ["Plugin", "Weighted score"], view.plugins.map((plugin, at) => row([
    make("span", {}, make("svg", { class: "swatch", viewBox: "0 0 10 10", "aria-hidden": "true" }, make("rect", { class: `s${at % 9}`, width: 10, height: 10 })), plugin), String(found[at])])));
}

function* eviction(found) {
  if (!found) return;
  yield make("h3", {}, "Eviction");
  if (found.losesBy) yield make("p", {}, `The candidate before is better by ${found.losesBy}.`);
  if (found.victims.length) {
    yield table("Victims", ["Pod", "Priority", "Budgets that break"], found.victims.map(([pod, priority, broken]) =>
      row([codeOf(text(pod)), String(priority), broken.map(text).join(", ") || "–"])));
  }
  if (found.budgets.length) {
    yield table("Budgets", ["Budget", "Allows before", "After"], found.budgets.map(([budget, before, after]) =>
      row([codeOf(text(budget)), String(before), String(after)])));
  }
}

function* podTable(node) {
  const pods = [...podsOf(node)];
  yield make("h3", {}, `${pods.length} pods, the highest priority first`);
  const rows = pods.map((pod) => () => row([codeOf(`${pod.namespace}/${pod.name}`), pod.workload || "–", String(pod.priority),
    ...data.resources.slice(0, 2).map((resource, at) => amount(resource, pod.requests[at]))]));
  const drawn = table("Pods", ["Pod", "Workload", "Priority", ...data.resources.slice(0, 2)], rows.slice(0, MOST_PODS).map((each) => each()));
  yield drawn;
  if (rows.length > MOST_PODS) {
    yield make("button", { type: "button", class: "more", click: (event) => {
      drawn.querySelector("tbody").append(...rows.slice(MOST_PODS).map((each) => each()));
      event.target.remove();
    } }, `Show ${rows.length - MOST_PODS} more`);
  }
}

function open(number) {
  const dialog = $("node");
  dialog.replaceChildren(...behind(number));
  dialog.showModal();
  dialog.scrollTop = 0;
  $("node-title").focus();
}

// --- a story ---------------------------------------------------------------------------------------------------------

const GONE = new Set(["removed", "deleted", "garbage collected"]);

/** Pods that events are about, and where they are at the start. */
function cast(events) {
  const pods = new Map(), touched = new Set();
  for (const event of events) {
    if (event.node) touched.add(event.node);
    if (event.object.startsWith("Node ")) touched.add(event.object.slice(5));
    if (event.object.startsWith("Pod ")) pods.set(event.object.slice(4), { workload: event.workload, node: null, state: "" });
  }
  for (let at = 0; at < data.nodes.length; at += 1) {
    const node = nodeOf(at);
    for (const pod of podsOf(node)) {
      const known = pods.get(`${pod.namespace}/${pod.name}`);
      if (known) { known.node = node.name; touched.add(node.name); }
    }
  }
  return { pods, touched: [...touched].sort() };
}

/** Where each pod is after that many events. */
function stateAt(events, first, count) {
  const pods = new Map([...first.pods].map(([name, pod]) => [name, { ...pod }])), off = new Set();
  for (const event of events.slice(0, count)) {
    const name = event.object.slice(event.object.indexOf(" ") + 1);
    if (event.object.startsWith("Node ")) {
      if (/cordoned|tainted|not ready|failed|deleted|removed|lost/.test(event.verb) && event.verb !== "uncordoned") off.add(name); else off.delete(name);
      continue;
    }
    const pod = event.object.startsWith("Pod ") && pods.get(name);
    if (!pod) continue;
    if (event.verb === "created") { pod.state = "waits"; pod.node = null; pod.there = true; }
    else if (event.verb === "bound") { pod.state = "starting"; pod.node = event.node; pod.there = true; }
    else if (event.verb === "ready" || event.verb === "running") pod.state = pod.state === "ending" ? "ending" : pod.there ? "new" : "";
    else if (["evicted", "preempted", "ended", "deleted"].includes(event.verb) && pod.node) pod.state = event.verb === "ended" ? "gone" : "ending";
    if (GONE.has(event.verb) && (event.verb !== "deleted" || !pod.node)) pod.state = "gone";
  }
  return { pods, off };
}

/** A story, ready to be played; null where nothing happens in it. */
function unpacked(story) {
  const all = story.events.map(([id, at, because, actor, verb, object, workload, node, detail]) =>
    ({ id, at, because, actor: text(actor), verb: text(verb), object: text(object), workload: text(workload), node: text(node), detail: text(detail) }));
  const events = all.slice(story.first).filter((each) => each.verb !== "removed" || !each.object.startsWith("Pod "));
  if (!events.length) return null;
  const first = cast(all);
  return { events, first, before: stateAt(all, first, story.first), byId: new Map(all.map((each) => [each.id, each])), asked: story.asked };
}

/** One player for all stories of the page: it stands below the title of the one that it plays. */
function player() {
  const slider = $("step"), stage = $("stage"), buttons = [], known = new Map();
  const seconds = (at) => `${Math.round((at - told.asked) * 1000) / 1000} s`;
  const sentence = (event) => {
    const phrase = (data.phrases[event.verb] || `${event.verb} {}`).replace("{}", () => event.object);
    const where = event.node && !event.actor.endsWith(` ${event.node}`) ? ` ${event.verb === "bound" ? "to" : "on"} ${event.node}` : "";
    return `${event.actor} ${phrase}${where}${event.detail ? `: ${event.detail}` : ""}`;
  };
  let timer = 0, told = null;

  function draw() {
    const { events, first, before, byId } = told;
    const count = Number(slider.value), now = events[count - 1];
    const { pods, off } = stateAt(events, before, count);
    const places = new Map(first.touched.map((name) => [name, []]));
    const waiting = [], gone = [];
    for (const [name, pod] of pods) {
      if (pod.state === "gone") gone.push([name, pod]);
      else if (pod.node) places.get(pod.node)?.push([name, pod]);
      else if (pod.there) waiting.push([name, pod]);
    }
    const old = new Map([...stage.querySelectorAll(".pod")].map((each) => [each.dataset.pod, each.getBoundingClientRect()]));
    const nowPod = now?.object.startsWith("Pod ") ? now.object.slice(4) : "";
    const chip = ([name, pod]) => make("span", { class: `pod ${pod.state}${name === nowPod ? " now" : ""}`, "data-pod": name, title: `${name}${WORDS[pod.state] ? `: ${WORDS[pod.state]}` : ""}` },
      `${GLYPHS[pod.state] || ""}${name.slice(name.indexOf("/") + 1)}`);
    const stop = (title, members, kind) => make("section", { class: `stop ${kind}`, "aria-label": title }, make("h3", {}, title), make("div", { class: "pods" }, members.map(chip)));
    const isNow = (name) => now && (now.node === name || now.object === `Node ${name}`) ? " now" : "";
    stage.replaceChildren(...[...places].map(([name, members]) => stop(name, members, `${off.has(name) ? "off" : ""}${isNow(name)}`)),
      stop(`Pending: ${waiting.length}`, waiting, "tray"), stop(`Gone: ${gone.length}`, gone.slice(-40), "tray"));
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) {
      for (const each of stage.querySelectorAll(".pod")) {
        const was = old.get(each.dataset.pod), is = each.getBoundingClientRect();
        if (was && (was.x !== is.x || was.y !== is.y)) {
          each.animate([{ transform: `translate(${was.x - is.x}px, ${was.y - is.y}px)` }, { transform: "none" }], { duration: 350, easing: "ease-out" });
        }
      }
    }
    const cause = now && byId.get(now.because);
    $("said").replaceChildren(...(now
      ? [make("p", { class: "strong" }, sentence(now)), make("p", { class: "faint" }, cause ? `because ${sentence(cause)} at ${seconds(cause.at)}` : "as asked")]
      : [make("p", { class: "faint" }, "Before anything happens.")]));
    $("clock").textContent = `${now ? seconds(now.at) : "0 s"} · ${count} of ${events.length}`;
    slider.setAttribute("aria-valuetext", now ? `${seconds(now.at)}: ${sentence(now)}` : "before");
  }

  function stopPlaying() {
    clearInterval(timer);
    timer = 0;
    $("play").textContent = "▶ Play";
    $("play").setAttribute("aria-pressed", "false");
  }
  function move(by) {
    slider.value = Number(slider.value) + by;
    draw();
  }
  function tell(number) {
    if (!known.has(number)) known.set(number, unpacked(data.stories[number]));
    const found = known.get(number), { part, title } = data.stories[number];
    stopPlaying();
    $("player").hidden = !found;
    buttons.forEach((button, at) => { if (button) button.hidden = at === number; });
    if (!found) return;
    told = found;
    if (part) {
      $(`${part}-told`).prepend($("player"));
      $("player-title").textContent = `${text(title)}: what happens, step by step`;
    }
    stage.replaceChildren();
    slider.max = told.events.length;
    slider.value = 0;
    draw();
  }

  slider.addEventListener("input", () => { stopPlaying(); draw(); });
  $("back").addEventListener("click", () => { stopPlaying(); move(-1); });
  $("on").addEventListener("click", () => { stopPlaying(); move(1); });
  $("play").addEventListener("click", () => {
    if (timer) { stopPlaying(); return; }
    if (Number(slider.value) >= told.events.length) slider.value = 0;
    $("play").textContent = "❚❚ Pause";
    $("play").setAttribute("aria-pressed", "true");
    const by = Math.max(1, Math.round(told.events.length / 120));
    timer = setInterval(() => { move(by); if (Number(slider.value) >= told.events.length) stopPlaying(); }, 450);
  });
  data.stories.forEach(({ part }, at) => {
    if (!part) return;
    buttons[at] = make("button", { type: "button", class: "more tell", click: () => { tell(at); $("play").focus(); } }, "▶ Play it step by step");
    $(`${part}-told`).prepend(buttons[at]);
    for (const link of document.querySelectorAll(`a[href="#${part}"]`)) link.addEventListener("click", () => tell(at));
  });
  tell(0);
}
const WORDS = { waits: "waits for a node", starting: "is bound, and starts", new: "new, ready", ending: "ends", gone: "gone" };
const GLYPHS = { waits: "… ", starting: "▹ ", new: "✔ ", ending: "✘ ", gone: "✘ " };

// --- the page --------------------------------------------------------------------------------------------------------

if (data) {
  document.querySelector(".tools").hidden = false;
  $("view")?.addEventListener("change", (event) => show(Number(event.target.value)));
  let due = 0;
  $("filter").addEventListener("input", () => { cancelAnimationFrame(due); due = requestAnimationFrame(find); });
  document.querySelector(".map").addEventListener("click", (event) => {
    const found = event.target.closest("[data-n]");
    if (found) open(Number(found.dataset.n));
  });
  if ($("player")) player();
}
function reveal(target) {
  const around = target.closest("details:not([open])");
  if (around) around.open = true;
  target.scrollIntoView();
}
function unfold() {
  const target = location.hash && $(location.hash.slice(1));
  if (target && target.closest("details:not([open])")) reveal(target);
}
addEventListener("hashchange", unfold);
// In a notebook the page has no address of its own, and a link to a part of it would lead to the notebook.
if (location.protocol === "about:") {
  addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']"), target = link && $(link.getAttribute("href").slice(1));
    if (target) { event.preventDefault(); reveal(target); }
  });
}
unfold();
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  for (const each of folded) each.open = true;
});
addEventListener("afterprint", () => { for (const each of folded) each.open = false; });

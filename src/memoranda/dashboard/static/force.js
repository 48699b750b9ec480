// Draws a force-directed graph on a canvas: d3-force moves the nodes, everything else is here.
const LABEL_HEIGHT = 15;
const MAX_LETTERS = 28;
const LETTER_WIDTH = 6.5;
const HIT_DISTANCE = 14;

const SPACING = 15;

/** Returns the nodes that hang together, the largest group first, each in an order in which linked nodes are near. */
function findGroups(nodes, links) {
  const near = new Map(nodes.map((node) => [node.id, []]));
  for (const { source, target } of links) {
    near.get(source).push(target);
    near.get(target).push(source);
  }
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const seen = new Set();
  const groups = [];
  // From the ends of a chain on; every node is reached from one or the other.
  for (const start of [...nodes].sort((a, b) => a.degree - b.degree)) {
    const group = [];
    const open = [start.id];
    while (open.length) {
      const id = open.pop();
      if (seen.has(id)) continue;
      seen.add(id);
      group.push(byId.get(id));
      open.push(...near.get(id));
    }
    if (group.length) groups.push(group);
  }
  return groups.sort((a, b) => b.length - a.length);
}

/** Gives each group of a large graph a place of its own, in rows, so that none is drawn over another. */
function placeApart(nodes, links) {
  const groups = findGroups(nodes, links).map((group) => ({ group, radius: SPACING * (1 + 0.8 * Math.sqrt(group.length)) }));
  const area = groups.reduce((sum, { radius }) => sum + 4 * radius * radius, 0);
  const width = Math.max(2 * groups[0].radius, 1.2 * Math.sqrt(area));
  let [x, y, height] = [0, 0, 0];
  for (const { group, radius } of groups) {
    if (x > 0 && x + 2 * radius > width) [x, y, height] = [0, y + height, 0];
    height = Math.max(height, 2 * radius);
    const home = { x: x + radius, y: y + radius, radius };
    if (group.length > 2) group.reduce((a, b) => (b.degree > a.degree ? b : a)).leads = true;
    group.forEach((node, n) => {
      // Along a spiral, so that a chain begins unknotted and little has to move.
      const turn = 2 * Math.sqrt(Math.PI * n);
      const far = (SPACING * 0.8 * turn) / (2 * Math.PI);
      Object.assign(node, { home, x: home.x + far * Math.cos(turn), y: home.y + far * Math.sin(turn) });
    });
    x += 2 * radius;
  }
}

export function drawGraph(canvas, graph, d3, colours, onChoose) {
  const context = canvas.getContext("2d");
  const large = graph.nodes.length > 1500;
  let view = { x: 0, y: 0, scale: large ? 0.35 : 0.9 };
  let matches = null;
  let chosen = null;
  let pointed = null;
  let waiting = false;
  let moved = false;
  let size = { width: 0, height: 0 };
  let labels = [];
  const links = graph.links.map((link) => ({ ...link }));
  const byId = new Map(graph.nodes.map((node) => [node.id, node]));
  if (large) placeApart(graph.nodes, links);
  const simulation = d3
    .forceSimulation(graph.nodes)
    .force(
      "charge",
      d3
        .forceManyBody()
        .strength(large ? -18 : -60)
        .theta(large ? 1.2 : 0.9)
        .distanceMax(large ? 60 : 500),
    )
    .force(
      "link",
      d3
        .forceLink(links)
        .id((node) => node.id)
        .distance(large ? SPACING : 42)
        .strength((link) => 0.25 + 0.4 * link.strength),
    )
    .force("x", d3.forceX((node) => node.home?.x || 0).strength(large ? 0.08 : 0.05))
    .force("y", d3.forceY((node) => node.home?.y || 0).strength(large ? 0.08 : 0.06))
    .alphaDecay(large ? 0.05 : 0.03)
    .on("tick", () => {
      if (!moved) fit();
      request();
    });
  graph.links.splice(0, graph.links.length, ...links);

  const radius = (node) => (large ? 0.5 : 1) * (2.5 + Math.min(9, Math.sqrt(node.degree) * 1.6 + node.weight * 2));
  const colour = (node) => colours.kinds[node.kind] || colours.kinds.other;
  const visible = (node) => !matches || matches.has(node.id);

  /** Fill the picture with the graph, until somebody moves it. */
  function fit() {
    let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const node of graph.nodes) {
      left = Math.min(left, node.x);
      right = Math.max(right, node.x);
      top = Math.min(top, node.y);
      bottom = Math.max(bottom, node.y);
    }
    const scale = Math.min(2.2, 0.86 * Math.min(size.width / (right - left + 60), size.height / (bottom - top + 60)));
    if (scale > 0) view = { scale, x: (-scale * (left + right)) / 2, y: (-scale * (top + bottom)) / 2 };
  }

  function request() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      draw();
    });
  }

  function draw() {
    const ratio = window.devicePixelRatio || 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, size.width, size.height);
    context.translate(size.width / 2 + view.x, size.height / 2 + view.y);
    context.scale(view.scale, view.scale);
    drawLinks();
    for (const node of graph.nodes) drawNode(node);
    drawLabels();
  }

  function drawLinks() {
    context.lineWidth = 0.8 / view.scale;
    context.strokeStyle = colours.line;
    context.globalAlpha = matches ? 0.25 : 0.7;
    context.beginPath();
    for (const link of links) {
      context.moveTo(link.source.x, link.source.y);
      context.lineTo(link.target.x, link.target.y);
    }
    context.stroke();
    context.globalAlpha = 1;
  }

  function drawNode(node) {
    context.globalAlpha = visible(node) ? (node.state === "current" ? 1 : 0.5) : 0.12;
    context.fillStyle = colour(node);
    context.beginPath();
    context.arc(node.x, node.y, radius(node), 0, 7);
    context.fill();
    if (chosen && chosen.id === node.id) {
      context.lineWidth = 2.5 / view.scale;
      context.strokeStyle = colours.text;
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  /** Draws as many labels as have room, the node that is pointed at first, then the nodes with the most links. */
  function drawLabels() {
    const ratio = window.devicePixelRatio || 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "center";
    context.lineWidth = 3;
    context.lineJoin = "round";
    context.strokeStyle = colours.halo;
    context.fillStyle = colours.text;
    const first = [pointed, chosen].filter(Boolean);
    const others = graph.nodes.filter((node) => visible(node) && (matches || !node.memory || node.leads || view.scale > 1.6));
    const taken = [];
    for (const node of new Set([...first, ...others])) {
      const at = byId.get(node.id);
      const room = at && findRoom(at, first.includes(node), taken);
      if (!room) continue;
      taken.push(room);
      context.strokeText(room.text, room.x, room.y);
      context.fillText(room.text, room.x, room.y);
    }
    labels = taken;
  }

  /** The place of a label on the canvas: above its node, inside the frame, on no other label; null without room. */
  function findRoom(node, must, taken) {
    // The label of a group stands above it, that of a node above the node.
    const group = node.leads && !must && !matches && view.scale < 1.6 ? node.home : null;
    const top = group ? group.y - group.radius : node.y - radius(node);
    const y = size.height / 2 + view.y + view.scale * top - 4;
    const middle = size.width / 2 + view.x + view.scale * (group || node).x;
    if (middle < 0 || middle > size.width || y < 0 || y > size.height) return null;
    const fitting = group ? Math.floor((2 * group.radius * view.scale - 8) / LETTER_WIDTH) : MAX_LETTERS;
    const letters = must ? 3 * MAX_LETTERS : Math.min(MAX_LETTERS, fitting);
    if (letters < 6) return null;
    const text = node.label.length > letters ? `${node.label.slice(0, letters - 1)}…` : node.label;
    const half = context.measureText(text).width / 2 + 3;
    const x = Math.max(half, Math.min(size.width - half, middle));
    const room = { text, x, y: Math.max(LABEL_HEIGHT, y), half };
    const meets = (other) => Math.abs(other.x - x) < other.half + half && Math.abs(other.y - room.y) < LABEL_HEIGHT;
    return taken.some(meets) ? null : room;
  }

  const toGraph = (event) => {
    const box = canvas.getBoundingClientRect();
    return [
      (event.clientX - box.left - size.width / 2 - view.x) / view.scale,
      (event.clientY - box.top - size.height / 2 - view.y) / view.scale,
    ];
  };
  let drag = null;
  const down = (event) => {
    canvas.setPointerCapture(event.pointerId);
    const node = simulation.find(...toGraph(event), HIT_DISTANCE / view.scale);
    drag = { node, x: event.clientX, y: event.clientY, moved: false };
  };
  const point = (event) => {
    const node = simulation.find(...toGraph(event), HIT_DISTANCE / view.scale) || null;
    if (node === pointed) return;
    pointed = node;
    canvas.title = node ? node.label : "";
    canvas.classList.toggle("over-node", Boolean(node));
    request();
  };
  const leave = () => {
    pointed = null;
    request();
  };
  const move = (event) => {
    if (!drag) return point(event);
    const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
    drag.moved ||= Math.hypot(dx, dy) > 4;
    moved ||= drag.moved;
    if (!drag.moved) return undefined;
    if (drag.node) {
      [drag.node.fx, drag.node.fy] = toGraph(event);
      simulation.alphaTarget(0.1).restart();
    } else {
      view = { ...view, x: view.x + dx, y: view.y + dy };
      [drag.x, drag.y] = [event.clientX, event.clientY];
      request();
    }
    return undefined;
  };
  const up = () => {
    if (drag && drag.node) {
      drag.node.fx = drag.node.fy = null;
      simulation.alphaTarget(0);
      if (!drag.moved) onChoose(drag.node);
    }
    drag = null;
  };
  const wheel = (event) => {
    event.preventDefault();
    moved = true;
    const factor = Math.exp(-event.deltaY * 0.0012);
    const scale = Math.min(8, Math.max(0.05, view.scale * factor));
    const box = canvas.getBoundingClientRect();
    const [px, py] = [event.clientX - box.left - size.width / 2, event.clientY - box.top - size.height / 2];
    const grown = scale / view.scale;
    view = { scale, x: px - (px - view.x) * grown, y: py - (py - view.y) * grown };
    request();
  };
  canvas.addEventListener("pointerdown", down);
  canvas.addEventListener("pointermove", move);
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointerleave", leave);
  canvas.addEventListener("wheel", wheel, { passive: false });
  const observer = new ResizeObserver(() => {
    const ratio = window.devicePixelRatio || 1;
    size = { width: canvas.clientWidth, height: canvas.clientHeight };
    canvas.width = size.width * ratio;
    canvas.height = size.height * ratio;
    request();
  });
  observer.observe(canvas);
  // Where the labels are, and how wide: a test sees that none lies on another.
  canvas.labels = () => labels;

  return {
    highlight(newMatches, newChosen, newPointed = null) {
      matches = newMatches;
      chosen = newChosen;
      pointed = newPointed;
      request();
    },
    stop() {
      simulation.stop();
      observer.disconnect();
      for (const [name, handler] of [
        ["pointerdown", down],
        ["pointermove", move],
        ["pointerup", up],
        ["pointerleave", leave],
        ["wheel", wheel],
      ])
        canvas.removeEventListener(name, handler);
    },
  };
}

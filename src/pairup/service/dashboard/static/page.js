// The service renders the page. This script requests it again and again and puts what changed in
// its place. All that it shows came escaped from the service: it makes no HTML of its own.
"use strict";
(() => {
  const MAX_PAUSE = 5000, TIMEOUT = 15000, KEY = "pairup-key";  // milliseconds
  const interval = () => Number(document.body.dataset.interval);
  let tag = null, pause = interval(), timer = null, asking = false;

  const $ = (id) => document.getElementById(id);
  const key = () => sessionStorage.getItem(KEY);

  function say(state, words) {
    const live = $("live");
    if (live.dataset.state !== state || live.textContent !== words) {
      live.dataset.state = state;
      live.textContent = words;
    }
  }

  async function ask() {
    const headers = { Accept: "text/html" };
    if (key()) headers.Authorization = `Bearer ${key()}`;
    if (tag) headers["If-None-Match"] = tag;
    const signal = AbortSignal.timeout(TIMEOUT);
    const answer = await fetch(location.href, { headers, signal, cache: "no-store" });
    if (answer.status === 304) return;
    if (answer.status === 429 || answer.status === 503) throw new Error("busy");
    const kind = answer.headers.get("Content-Type") || "";
    if (!kind.startsWith("text/html")) throw new Error(`status ${answer.status}`);
    const found = new DOMParser().parseFromString(await answer.text(), "text/html");
    tag = answer.headers.get("ETag");
    if (answer.status === 401) sessionStorage.removeItem(KEY);
    show(found);
  }

  async function refresh() {
    if (asking) return;
    asking = true;
    clearTimeout(timer);
    const began = performance.now();
    try {
      await ask();
      pause = interval();
      const page = document.body.dataset.page;
      say(page === "key" ? "still" : "live", page === "key" ? "waiting for a key" : "live");
    } catch (error) {
      pause = Math.min(2 * pause, Math.max(interval(), MAX_PAUSE));
      const busy = error.message === "busy";  // what is shown stays
      say("lost", busy ? "service busy, trying again" : "connection lost, trying again");
    }
    asking = false;
    if (document.body.dataset.page !== "key") {
      // A page that takes long to render is requested less often.
      timer = setTimeout(refresh, Math.max(pause, 3 * (performance.now() - began)));
    }
  }

  function show(found) {
    const page = found.body.dataset.page;
    document.title = found.title;
    document.body.dataset.interval = found.body.dataset.interval;
    if (page !== document.body.dataset.page || page === "key" || page === "refusal") {
      document.body.dataset.page = page;
      const alone = found.querySelector("main");
      if (alone.innerHTML !== $("main").innerHTML) $("main").replaceChildren(...alone.childNodes);
      begin();
    } else {
      document.querySelectorAll("[data-live]").forEach((piece) => swap(piece, found));
    }
    count();
    document.dispatchEvent(new Event("pairup:shown"));
  }

  function swap(piece, found) {
    const fresh = found.getElementById(piece.id);
    if (!fresh || fresh.innerHTML === piece.innerHTML) return;
    const focused = piece.contains(document.activeElement) ? document.activeElement : null;
    const scrolled = [...piece.querySelectorAll(".scroll")].map((each) => [each.scrollLeft, each.scrollTop]);
    const place = focused && [...piece.querySelectorAll("a, [tabindex]")].indexOf(focused);
    piece.replaceChildren(...fresh.childNodes);
    piece.querySelectorAll(".scroll").forEach((each, x) => {
      if (scrolled[x]) [each.scrollLeft, each.scrollTop] = scrolled[x];
    });
    if (focused) {
      const again = focused.id ? $(focused.id) : piece.querySelectorAll("a, [tabindex]")[place];
      if (again) again.focus({ preventScroll: true });
    }
  }

  function begin() {
    const forget = $("forget");
    if (forget) forget.hidden = !key();
    const field = $("key");
    if (field) field.focus();
  }

  function duration(seconds) {
    for (const [unit, size] of [["s", 1], ["min", 60]]) {
      if (seconds < 90 * size) return `${Math.max(1, Math.round(seconds / size))} ${unit}`;
    }
    return `${Math.max(1, Math.round(seconds / 3600))} h`;
  }

  // How long games stay open and players have waited, counted from the moment the page came: the
  // clock here may be wrong. While no event changes the page, those who wait are the same.
  const came = new WeakMap();
  function count() {
    document.querySelectorAll("time[data-left], time[data-waited]").forEach((each) => {
      if (!came.has(each)) came.set(each, performance.now());
      const passed = (performance.now() - came.get(each)) / 1000, { left, waited } = each.dataset;
      const told = left === undefined ? duration(Number(waited) + passed) : `in ${duration(Number(left) - passed)}`;
      if (each.textContent !== told) each.textContent = told;
    });
  }

  // Events

  document.addEventListener("submit", (event) => {
    if (event.target.id !== "key-form") return;
    event.preventDefault();
    sessionStorage.setItem(KEY, $("key").value.trim());
    tag = null;
    refresh();
  });
  document.addEventListener("click", (event) => {
    if (event.target.id !== "forget") return;
    sessionStorage.removeItem(KEY);
    tag = null;
    refresh();
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) clearTimeout(timer);
    else refresh();
  });

  begin();
  count();
  setInterval(count, 500);
  if (document.body.dataset.page !== "key" || key()) refresh();
  else say("still", "waiting for a key");
})();

// A page that asks again and again how things go may be left while it asks: that is no error, and nobody is told of one.
"use strict";
{
  const under_way = new Set();
  addEventListener("htmx:beforeSend", ({ detail: { xhr } }) => under_way.add(xhr));
  addEventListener("htmx:afterRequest", ({ detail: { xhr } }) => under_way.delete(xhr));
  addEventListener("beforeunload", () => under_way.forEach((xhr) => (xhr.onabort = xhr.onerror = null)));
}
// What somebody has unfolded in a part of a page stays so where that part comes anew.
{
  let open = [];
  addEventListener("htmx:beforeSwap", () => (open = [...document.querySelectorAll("details[id][open]")].map(({ id }) => id)));
  addEventListener("htmx:afterSwap", () => open.forEach((id) => document.getElementById(id)?.setAttribute("open", "")));
}
// A button of a draft that is pressed while what was typed is being saved waits for that, and nothing more is saved behind it:
// otherwise the two would meet, and somebody alone would be told of two versions.
{
  let is_saving = false;
  let is_leaving = false;
  let pressed = null;
  const of_draft = (act) => (event) => event.target.id === "draft" && act(event);
  addEventListener("htmx:beforeRequest", of_draft((event) => is_leaving && event.preventDefault()));
  addEventListener("htmx:beforeSend", of_draft(() => (is_saving = true)));
  addEventListener("htmx:afterRequest", of_draft(({ target }) => {
    is_saving = false;
    if (is_leaving) target.requestSubmit(pressed?.isConnected ? pressed : null);
  }));
  addEventListener("submit", of_draft((event) => {
    is_leaving = true;
    pressed = event.submitter;
    if (is_saving) event.preventDefault();
  }));
  addEventListener("pageshow", () => (is_leaving = false));
}
// Where a session has ended meanwhile, what was typed waits in this tab until somebody has signed in again, and comes back then.
{
  const KEY = "lopub typed";
  const read = () => JSON.parse(sessionStorage.getItem(KEY) ?? "null");
  const keep = (what) => sessionStorage.setItem(KEY, JSON.stringify(what));
  const is_typed = (act) => (event) => event.target.matches?.("form[data-typed]") && act(event.target, event);
  const typed = (form) => keep({ to: form.getAttribute("action"), fields: [...new FormData(form)].filter(([name]) => name !== "tab") });
  addEventListener("submit", is_typed(typed));
  addEventListener("htmx:beforeSend", is_typed(typed));
  addEventListener("htmx:afterRequest", is_typed((_, { detail: { xhr } }) => xhr.status === 200 && sessionStorage.removeItem(KEY)));
  const fill = (form, fields) => {
    const given = new Map(fields);
    for (const control of form.elements) {
      if (control.type === "checkbox") control.checked = given.has(control.name);
      else if (given.has(control.name) && !control.name.endsWith(".controls")) control.value = given.get(control.name);
    }
    const closed = form.closest("details");
    if (closed) closed.open = true;
    document.querySelector("#typed-again").hidden = false;
    form.dispatchEvent(new Event("change", { bubbles: true })); // which saves it
  };
  addEventListener("DOMContentLoaded", () => {
    const kept = read();
    if (!kept) return;
    if (document.querySelector("form[action='/console/sign-in']")) return keep({ ...kept, is_out: true });
    const form = [...document.querySelectorAll("form[data-typed]")].find((one) => one.getAttribute("action") === kept.to);
    if (form && kept.is_out) fill(form, kept.fields);
    if (form || !kept.is_out) sessionStorage.removeItem(KEY);
  });
}

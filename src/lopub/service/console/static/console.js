// A page that asks again and again how things go may be left while it asks: that is no error, and nobody is told of one.
"use strict";
{
  const under_way = new Set();
  addEventListener("htmx:beforeSend", ({ detail: { xhr } }) => under_way.add(xhr));
  addEventListener("htmx:afterRequest", ({ detail: { xhr } }) => under_way.delete(xhr));
  addEventListener("beforeunload", () => under_way.forEach((xhr) => (xhr.onabort = xhr.onerror = null)));
}

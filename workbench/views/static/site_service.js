// Keeps the whole site on the visitor's machine after the first visit; CACHE and FILES stand above, written at build.
addEventListener("install", (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(FILES)).then(() => skipWaiting()));
});
addEventListener("activate", (event) => {
  const outdated = (names) => names.filter((name) => name.startsWith("discover-") && name !== CACHE);
  event.waitUntil(caches.keys().then((names) => Promise.all(outdated(names).map((name) => caches.delete(name)))));
});
addEventListener("fetch", (event) => {
  if (event.request.method !== "GET") return;
  event.respondWith(
    caches.open(CACHE).then((cache) => cache.match(event.request, { ignoreSearch: true })).then((kept) => kept || fetch(event.request)),
  );
});

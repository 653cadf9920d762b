/** When somebody can see an element: a viewer far down a page costs nothing before that. */

/** How far outside of the screen is near enough. */
const NEAR = "300px";

/** Resolves when an element is on the screen or nearly so, or is about to be printed. */
export function seen(element: Element): { readonly when: Promise<void>; stop(): void } {
  if (typeof IntersectionObserver === "undefined")
    return { when: Promise.resolve(), stop: () => {} };
  let stop = () => {};
  const when = new Promise<void>((resolve) => {
    const done = () => {
      stop();
      resolve();
    };
    const observer = new IntersectionObserver(
      (entries) => entries.some((one) => one.isIntersecting) && done(),
      { rootMargin: NEAR },
    );
    stop = () => {
      observer.disconnect();
      removeEventListener("beforeprint", done);
    };
    observer.observe(element);
    addEventListener("beforeprint", done);
  });
  return { when, stop: () => stop() };
}

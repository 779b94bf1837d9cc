/** Tells once when an element has come into view: the end of what is to be read before it is decided on. */
export function endInView(node: HTMLElement, seen: () => void): { destroy: () => void } {
  const observer = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    seen();
  });
  observer.observe(node);
  return { destroy: () => observer.disconnect() };
}

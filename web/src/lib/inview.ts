/** Brings the chosen one of a row of tabs into view where the row is wider than the screen. */
export function inView(tabs: HTMLElement, _chosen: string | null): { update: () => void } {
  const show = (): void => {
    const tab = tabs.querySelector<HTMLElement>('[aria-selected="true"]');
    if (tab) tabs.scrollLeft = tab.offsetLeft - tabs.offsetLeft - (tabs.clientWidth - tab.offsetWidth) / 2;
  };
  requestAnimationFrame(show);
  return { update: () => requestAnimationFrame(show) };
}

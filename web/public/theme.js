// Before anything is painted, so that a page in the dark does not flash.
{
  const chosen = localStorage.getItem('bowline.theme');
  const dark = chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
}

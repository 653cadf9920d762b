/** Light or dark: what the page around says, else what the system says. */

/** Whether the page is dark; null where it does not say. */
function ofPage(): boolean | null {
  const { body, documentElement: html } = document;
  const jupyter = body?.dataset.jpThemeLight;
  if (jupyter) return jupyter === "false";
  if (body?.classList.contains("vscode-dark")) return true;
  if (body?.classList.contains("vscode-light")) return false;
  const theme =
    html.dataset.theme ?? html.dataset.bsTheme ?? body?.dataset.theme ?? html.dataset.mode;
  if (theme === "dark" || theme === "light") return theme === "dark";
  if (html.classList.contains("dark")) return true;
  return null;
}

/** Whether a page that brings Jupyter's colours has dark ones; null where it brings none. */
function ofColors(root: Element): boolean | null {
  const style = getComputedStyle(root);
  if (!style.getPropertyValue("--jp-layout-color1").trim()) return null;
  const [r, g, b] = style.backgroundColor.match(/[\d.]+/g)?.map(Number) ?? [255, 255, 255];
  return r * 0.299 + g * 0.587 + b * 0.114 < 128;
}

/** Calls back with the scheme now and whenever it changes; returns a stop. */
export function followScheme(root: Element, apply: (dark: boolean) => void): () => void {
  const system = globalThis.matchMedia?.("(prefers-color-scheme: dark)");
  const now = () => apply(ofPage() ?? ofColors(root) ?? system?.matches ?? false);
  now();
  const observer = new MutationObserver(now);
  const watched = {
    attributes: true,
    attributeFilter: ["class", "data-theme", "data-bs-theme", "data-jp-theme-light", "data-mode"],
  };
  observer.observe(document.documentElement, watched);
  if (document.body) observer.observe(document.body, watched);
  system?.addEventListener("change", now);
  return () => {
    observer.disconnect();
    system?.removeEventListener("change", now);
  };
}

/** A window over the viewer: takes the focus, keeps it, gives it back. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "./icons";
import type { App } from "./store";

export function Dialog(props: {
  app: App;
  title: string;
  tools?: ComponentChildren;
  children: ComponentChildren;
}) {
  const { app, title } = props;
  const dialog = useRef<HTMLDivElement>(null);
  const close = () => {
    app.overlay.value = null;
  };
  useEffect(() => {
    const root = dialog.current!.getRootNode() as ShadowRoot | Document;
    const before = root.activeElement as HTMLElement | null;
    (dialog.current!.querySelector<HTMLElement>("[data-first]") ?? dialog.current!).focus();
    return () => before?.focus?.();
  }, []);
  const key = (event: KeyboardEvent) => {
    if (event.key === "Escape") close();
    if (event.key === "Tab") keepInside(event, dialog.current!);
    event.stopPropagation();
  };
  return (
    <div
      class="pd-overlay"
      onClick={(event) => event.target === event.currentTarget && close()}
      onKeyDown={key}
    >
      <div
        class="pd-dialog"
        role="dialog"
        aria-modal="true"
        aria-label={title}
        tabIndex={-1}
        ref={dialog}
      >
        <header>
          <h2>{title}</h2>
          {props.tools}
          <button type="button" class="pd-tool" aria-label="Close" onClick={close}>
            <Icon name="close" />
          </button>
        </header>
        <div class="pd-scroll">{props.children}</div>
      </div>
    </div>
  );
}

function keepInside(event: KeyboardEvent, dialog: HTMLElement): void {
  const all = [...dialog.querySelectorAll<HTMLElement>("button, input, select")];
  const active = (dialog.getRootNode() as ShadowRoot | Document).activeElement;
  const edge = event.shiftKey ? all[0] : all[all.length - 1];
  if (active !== edge) return;
  (event.shiftKey ? all[all.length - 1] : all[0])?.focus();
  event.preventDefault();
}

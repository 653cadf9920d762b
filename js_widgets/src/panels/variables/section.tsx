/** A titled part of the panel, and the mark of what changed. */

import type { ComponentChildren } from "preact";

export function Section({
  title,
  tools,
  children,
}: {
  title: string;
  tools?: ComponentChildren;
  children: ComponentChildren;
}) {
  return (
    <section>
      <h3>
        <span class="pd-grow">{title}</span>
        {tools}
      </h3>
      {children}
    </section>
  );
}

export function Changed() {
  return (
    <span class="pd-delta" role="img" aria-label="changed">
      ●
    </span>
  );
}

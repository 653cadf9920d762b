/** A button that copies the Python expression for what a panel shows. */

import { copyPython } from "../../ui/clipboard";
import { Icon } from "../../ui/icons";
import type { App } from "../../ui/store";

export function CopyButton({ app, text }: { app: App; text: () => string }) {
  return (
    <button
      type="button"
      class="pd-tool pd-small pd-copy"
      aria-label="Copy as Python"
      title="Copy as Python"
      onClick={() => copyPython(app, text())}
    >
      <Icon name="copy" />
    </button>
  );
}

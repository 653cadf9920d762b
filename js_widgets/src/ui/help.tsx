/** Every command with its keys: to read, to find and to run; and what the words mean. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { commands, runCommand } from "./commands";
import { Dialog } from "./dialog";
import { keyText } from "./keys";
import type { App } from "./store";
import { WORDS } from "./words";

export function Help({ app }: { app: App }): JSX.Element {
  const filter = useSignal("");
  const wanted = filter.value.toLowerCase();
  const offered = commands().all.filter((one) => !one.live || app.host);
  const all = offered.filter((one) => one.title.toLowerCase().includes(wanted));
  const groups = [...new Set(all.map((one) => one.group ?? "Panels"))];
  const run = (id: string) => {
    app.overlay.value = null;
    runCommand(app, id);
  };
  const field = (
    <input
      class="pd-field"
      data-first
      aria-label="Find a command"
      placeholder="Find a command"
      value={filter.value}
      onInput={(event) => {
        filter.value = event.currentTarget.value;
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter" && all[0]) run(all[0].id);
      }}
    />
  );
  return (
    <Dialog app={app} title="Commands and keys" tools={field}>
      <div class="pd-commands">
        {groups.map((group) => (
          <section key={group}>
            <h3>{group}</h3>
            {all
              .filter((one) => (one.group ?? "Panels") === group)
              .map((one) => (
                <button type="button" key={one.id} onClick={() => run(one.id)}>
                  <span class="pd-ellipsis">{one.title}</span>
                  {one.keys?.map((key) => (
                    <span class="pd-key" key={key}>
                      {keyText(key)}
                    </span>
                  ))}
                </button>
              ))}
          </section>
        ))}
        {!all.length && <p class="pd-muted">No command is called that.</p>}
      </div>
      {!wanted && (
        <dl class="pd-words" aria-label="Words">
          {Object.entries(WORDS).map(([word, said]) => (
            <div key={word}>
              <dt>{word}</dt>
              <dd>{said}</dd>
            </div>
          ))}
        </dl>
      )}
    </Dialog>
  );
}

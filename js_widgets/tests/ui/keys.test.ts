import { describe, expect, it } from "vitest";
import { commands } from "../../src/ui/commands";
import { keyName, keyText, Registry } from "../../src/ui/keys";

const named = (key: string, options: KeyboardEventInit = {}) =>
  keyName(new KeyboardEvent("keydown", { key, ...options }));

describe("keys", () => {
  it("have one name, whatever the keyboard says", () => {
    expect(named("t")).toBe("T");
    expect(named("T", { shiftKey: true })).toBe("Shift+T");
    expect(named("?", { shiftKey: true })).toBe("?");
    expect(named("ArrowRight", { shiftKey: true })).toBe("Shift+ArrowRight");
    expect(named("k", { metaKey: true })).toBe("Ctrl+K");
  });

  it("are written for people", () => {
    expect(keyText("Shift+T")).toBe("⇧T");
    expect(keyText("ArrowLeft")).toBe("←");
  });

  it("belong to one command each", () => {
    const registry = new Registry<null>();
    registry.add([{ id: "a", title: "A", keys: ["T"], run: () => {} }]);
    expect(() => registry.add([{ id: "b", title: "B", keys: ["T"], run: () => {} }])).toThrow(
      /T belongs to a and b/,
    );
    expect(() => registry.add([{ id: "a", title: "A", run: () => {} }])).toThrow(/two commands a/);
    expect(commands().all.length).toBeGreaterThan(30);
  });
});

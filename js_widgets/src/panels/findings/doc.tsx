/** The page of a check: headings, paragraphs, code; a small part of Markdown. */

import type { ComponentChildren, JSX } from "preact";

export function Doc({ text }: { text: string }): JSX.Element {
  const blocks = text.split(/\n{2,}/).map((block) => block.trim());
  return <div class="pd-doc">{blocks.filter(Boolean).map(block)}</div>;
}

function block(text: string, key: number): JSX.Element {
  const heading = /^#+\s*(.*)$/.exec(text);
  if (heading) return <h4 key={key}>{heading[1]}</h4>;
  const code = /^```\w*\n([\s\S]*?)\n?```$/.exec(text);
  if (code) return <pre key={key}>{code[1]}</pre>;
  return <p key={key}>{inline(text)}</p>;
}

/** Text with `code` in it. */
export function inline(text: string): ComponentChildren {
  return text
    .split(/(`[^`]+`)/)
    .map((part, i) => (/^`.+`$/.test(part) ? <code key={i}>{part.slice(1, -1)}</code> : part));
}

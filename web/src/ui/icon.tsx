import type { ReactElement } from "react";

/** Own small set, drawn on 24 x 24; always beside a word, so hidden from screen readers. */
const paths = {
  up: "M12 19V6M6 12l6-6 6 6",
  down: "M12 5v13M6 12l6 6 6-6",
  sort: "M8 9l4-4 4 4M8 15l4 4 4-4",
  hidden: "M4 4l16 16M10 6a9 9 0 0 1 11 6 12 12 0 0 1-2.6 3.5M6.5 7.5A12 12 0 0 0 3 12c2 4 5.5 6 9 6a9 9 0 0 0 4.5-1.2",
  home: "M4 11l8-7 8 7v8a1 1 0 0 1-1 1h-4v-6H9v6H5a1 1 0 0 1-1-1z",
  tool: "M14.5 6a4 4 0 0 0-5.3 5.1L4 16.3V20h3.7l5.2-5.2A4 4 0 0 0 18 9.5l-2.6 2.6-2.5-2.5z",
  delegation: "M8 7a3 3 0 1 0 0 .01M16 17a3 3 0 1 0 0 .01M8 10v2a3 3 0 0 0 3 3h2",
  why: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M9.5 9.3a2.6 2.6 0 1 1 3.6 2.9c-.8.4-1.1.9-1.1 1.8M12 17.2v.1",
  decision: "M12 4v16M6 20h12M12 7l-6 2-2 5a3.5 3.5 0 0 0 5 0L6.5 9M12 7l6-1 2 5a3.5 3.5 0 0 1-5 0l2.5-4.8",
  read: "M2.5 12s3.5-6.5 9.5-6.5 9.5 6.5 9.5 6.5-3.5 6.5-9.5 6.5S2.5 12 2.5 12M12 14.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5",
  write: "M4 20l1-4L16 5l3 3L8 19zM14 7l3 3",
  request: "M4 6h16v11h-9l-4 3.5V17H4zM9 11.5l2 2 4-4",
  policy: "M12 3l7 3v5.5c0 4.3-2.9 7.6-7 9-4.1-1.4-7-4.7-7-9V6zM8.8 12l2.3 2.3 4.2-4.3",
  system: "M5 4h14v6H5zM5 14h14v6H5zM8 7v.1M8 17v.1",
  lock: "M8 11V8a4 4 0 0 1 8 0v3M6 11h12v9H6zM12 14.5v2",
  check: "M5 12.5l4.5 4.5L19 7.5",
  cross: "M6 6l12 12M18 6L6 18",
  key: "M14 10a4 4 0 1 0-3.6 3.9L12 15.5h2v2h2v2h3v-3l-5.3-5.3A4 4 0 0 0 14 10M9.2 9.3v.1",
  clock: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M12 7v5l3.5 2",
  pause: "M9 6v12M15 6v12",
  question: "M9 9a3 3 0 1 1 4.3 2.7c-.9.5-1.3 1-1.3 2.1M12 18v.1",
  person: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8M4.5 20.5c.8-3.8 3.7-6 7.5-6s6.7 2.2 7.5 6",
  agent: "M6 9h12a1.5 1.5 0 0 1 1.5 1.5v7A1.5 1.5 0 0 1 18 19H6a1.5 1.5 0 0 1-1.5-1.5v-7A1.5 1.5 0 0 1 6 9M12 9V5M9.5 13.5v1M14.5 13.5v1",
  app: "M4 6.5A1.5 1.5 0 0 1 5.5 5h13A1.5 1.5 0 0 1 20 6.5v11a1.5 1.5 0 0 1-1.5 1.5h-13A1.5 1.5 0 0 1 4 17.5zM4 9.5h16",
  copy: "M9 9h9.5A1.5 1.5 0 0 1 20 10.5V20H10.5A1.5 1.5 0 0 1 9 18.5zM15 6V4H5.5A1.5 1.5 0 0 0 4 5.5V15h2",
  search: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13M15.5 15.5L20 20",
  sun: "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8M12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.6L7 7M17 17l1.4 1.4M18.4 5.6L17 7M7 17l-1.4 1.4",
  moon: "M19.5 14.5A8 8 0 0 1 9.5 4.5a8 8 0 1 0 10 10",
  screen: "M4 6.5A1.5 1.5 0 0 1 5.5 5h13A1.5 1.5 0 0 1 20 6.5v8a1.5 1.5 0 0 1-1.5 1.5h-13A1.5 1.5 0 0 1 4 14.5zM9 20h6M12 16v4",
  menu: "M4 7h16M4 12h16M4 17h16",
  more: "M6 12h.1M12 12h.1M18 12h.1",
  running: "M12 3a9 9 0 1 0 9 9",
  plus: "M12 5v14M5 12h14",
  exit: "M10 5H5.5A1.5 1.5 0 0 0 4 6.5v11A1.5 1.5 0 0 0 5.5 19H10M15 8l4 4-4 4M19 12H9",
  chevron: "M7 10l5 5 5-5",
  warning: "M12 4l9 16H3zM12 10v4.5M12 17.3v.1",
  workflow: "M5 4h6v5H5zM13 15h6v5h-6zM8 9v8.5h5",
  minus: "M6 12h12",
  task: "M9 6h11M9 12h11M9 18h11M4.5 6h.1M4.5 12h.1M4.5 18h.1",
  refresh: "M19 12a7 7 0 1 1-2.3-5.2M19 4v4h-4",
} as const;

export type IconName = keyof typeof paths;

export const Icon = ({ name, size = 16 }: { readonly name: IconName; readonly size?: number }): ReactElement => (
  <svg
    className="sp-icon"
    width={size}
    height={size}
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    strokeWidth="1.8"
    strokeLinecap="round"
    strokeLinejoin="round"
    aria-hidden="true"
    focusable="false"
  >
    <path d={paths[name]} />
  </svg>
);

/** Sallyport's sign: a gate inside a gate. */
export const Sign = ({ size = 22 }: { readonly size?: number }): ReactElement => (
  <svg className="sp-icon" width={size} height={size} viewBox="0 0 32 32" fill="none" aria-hidden="true" focusable="false">
    <rect width="32" height="32" rx="7" fill="#0b6b63" />
    <path d="M8 25V14a8 8 0 0 1 16 0v11M6 25h20" stroke="#fff" strokeWidth="2.6" strokeLinecap="round" />
    <path d="M13 25v-9.5a3 3 0 0 1 6 0V25" fill="#fff" />
  </svg>
);

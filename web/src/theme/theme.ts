import { createTheme, type CSSVariablesResolver, type MantineColorsTuple } from "@mantine/core";
import { words } from "../strings/en.ts";

/** One look for the whole page: dense, calm, one accent hue. Every value is a token of tokens.css. */

const gate: MantineColorsTuple = [
  "#eef8f7",
  "#d8eeec",
  "#afdcd8",
  "#82c9c3",
  "#5bb8b0",
  "#3fa99f",
  "#259b90",
  "#138077",
  "#0b6b63",
  "#06524c",
];

const dark: MantineColorsTuple = [
  "#e3e7e9",
  "#a2abb2",
  "#959ea6",
  "#7a858e",
  "#3b454b",
  "#2c3439",
  "#20262a",
  "#191e21",
  "#131719",
  "#0f1214",
];

export const theme = createTheme({
  primaryColor: "gate",
  primaryShade: { light: 8, dark: 8 },
  autoContrast: true,
  colors: { gate, dark },
  cursorType: "pointer",
  defaultRadius: 4,
  respectReducedMotion: true,
  focusRing: "auto",
  fontFamily: "var(--sp-font)",
  fontFamilyMonospace: "var(--sp-mono)",
  fontSizes: {
    xs: "var(--sp-text-12)",
    sm: "var(--sp-text-13)",
    md: "var(--sp-text-13)",
    lg: "var(--sp-text-15)",
    xl: "var(--sp-text-20)",
  },
  spacing: {
    xs: "var(--sp-space-1)",
    sm: "var(--sp-space-2)",
    md: "var(--sp-space-3)",
    lg: "var(--sp-space-4)",
    xl: "var(--sp-space-5)",
  },
  radius: { sm: "var(--sp-radius-control)", md: "var(--sp-radius-panel)" },
  headings: {
    fontWeight: "600",
    sizes: {
      h1: { fontSize: "20px", lineHeight: "1.3" },
      h2: { fontSize: "15px", lineHeight: "1.4" },
      h3: { fontSize: "13px", lineHeight: "1.4" },
    },
  },
  components: {
    Button: { defaultProps: { size: "xs" } },
    TextInput: { defaultProps: { size: "xs" } },
    Textarea: { defaultProps: { size: "xs" } },
    NativeSelect: { defaultProps: { size: "xs" } },
    Checkbox: { defaultProps: { size: "xs" } },
    Radio: { defaultProps: { size: "xs" } },
    Switch: { defaultProps: { size: "xs" } },
    SegmentedControl: { defaultProps: { size: "xs" } },
    Alert: { defaultProps: { variant: "outline" } },
    Modal: {
      defaultProps: {
        transitionProps: { duration: 120 },
        overlayProps: { backgroundOpacity: 0.5 },
        centered: true,
        closeButtonProps: { "aria-label": words.common.close },
      },
    },
    Menu: { defaultProps: { transitionProps: { duration: 100 } } },
  },
});

const colors = {
  "--mantine-color-body": "var(--sp-ground)",
  "--mantine-color-text": "var(--sp-text)",
  "--mantine-color-dimmed": "var(--sp-dim)",
  "--mantine-color-placeholder": "var(--sp-placeholder)",
  "--mantine-color-anchor": "var(--sp-link)",
  "--mantine-color-error": "var(--sp-deny)",
  "--mantine-color-default": "var(--sp-ground)",
  "--mantine-color-default-hover": "var(--sp-hover)",
  "--mantine-color-default-border": "var(--sp-line)",
  "--mantine-primary-color-filled": "var(--sp-accent)",
  "--mantine-primary-color-filled-hover": "var(--sp-accent-hover)",
};

/** The tokens where Mantine reads them. They differ by scheme themselves. */
export const cssVariables: CSSVariablesResolver = () => ({ variables: {}, light: colors, dark: colors });

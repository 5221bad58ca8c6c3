import { createTheme, type CSSVariablesResolver, type MantineColorsTuple } from "@mantine/core";
import { words } from "../strings/en.ts";

/** One look for the whole page: dense, calm, one accent hue. Colours with a meaning lie in app.css. */

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
  "#d8dde1",
  "#b2bac2",
  "#8d96a0",
  "#6a737d",
  "#4a535c",
  "#2c3238",
  "#242a2f",
  "#1b1f23",
  "#14171a",
  "#0e1113",
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
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Open Sans", sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, monospace',
  fontSizes: { xs: "12px", sm: "13px", md: "14px", lg: "16px", xl: "20px" },
  spacing: { xs: "4px", sm: "8px", md: "12px", lg: "16px", xl: "24px" },
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

/** Error text and dimmed text that reach 4.5:1 on both grounds; Mantine's own do not everywhere. */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    "--mantine-color-error": "#b3261e",
    "--mantine-color-dimmed": "#5c636b",
    "--mantine-color-placeholder": "#6b727a",
    "--mantine-color-anchor": "#0b6b63",
  },
  dark: {
    "--mantine-color-error": "#ff9a92",
    "--mantine-color-dimmed": "#a3aab2",
    "--mantine-color-placeholder": "#959ca4",
    "--mantine-color-anchor": "#6cc9c0",
  },
});

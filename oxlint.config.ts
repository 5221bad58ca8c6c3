import { defineConfig } from "oxlint";
import { folderRules, moduleRules, restrict } from "./scripts/checks/import-table.ts";

export default defineConfig({
  plugins: ["typescript", "import", "unicorn", "promise", "node"],
  categories: { correctness: "error" },
  ignorePatterns: ["web/dist/**", "node_modules/**", ".sallyport/**", ".cache/**"],
  rules: {
    "typescript/no-floating-promises": [
      "error",
      {
        allowForKnownSafeCalls: [
          {
            from: "package",
            package: "node:test",
            name: ["test", "suite", "describe", "it", "before", "after", "beforeEach", "afterEach"],
          },
        ],
      },
    ],
    "typescript/no-misused-promises": "error",
    "typescript/unbound-method": "off",
    "typescript/await-thenable": "error",
    "typescript/no-explicit-any": "error",
    "typescript/no-non-null-assertion": "error",
    "typescript/consistent-type-imports": "error",
    "typescript/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
    "import/no-cycle": ["error", { ignoreTypes: false }],
    "no-console": "error",
    "no-eval": "error",
    eqeqeq: "error",
    "no-var": "error",
    "prefer-const": "error",
    ...restrict(),
    "typescript/require-array-sort-compare": "off",
  },
  overrides: [
    ...moduleRules,
    ...folderRules,
    {
      files: ["src/**/*.test.ts", "src/**/*.contract.ts", "src/testing/**/*.ts"],
      rules: { ...restrict(), "typescript/no-non-null-assertion": "off" },
    },
    { files: ["scripts/**", "e2e/**"], rules: { "no-console": "off", "no-restricted-imports": "off" } },
    { files: ["src/main.ts"], rules: { "no-console": "off" } },
  ],
});

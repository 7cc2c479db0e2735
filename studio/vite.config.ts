// The build: everything under dist/, the same bytes for the same sources, nothing inlined, no outside host.
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const server = process.env.STAVE_SERVER ?? "http://127.0.0.1:8080";

export default defineConfig({
  plugins: [react()],
  base: "/",
  build: {
    target: "es2022",
    outDir: "dist",
    assetsDir: "assets",
    // A strict content security policy forbids inline scripts and data: modules.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    reportCompressedSize: false,
  },
  server: {
    port: 5173,
    proxy: Object.fromEntries(["/studio", "/runs", "/v1", "/v2"].map((path) => [path, server])),
  },
  test: {
    include: ["src/**/*.test.ts", "src/**/*.test.tsx"],
    environment: "node",
  },
});

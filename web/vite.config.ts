import { svelte } from '@sveltejs/vite-plugin-svelte';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

/** A compressed copy beside every text file, so that the server sends it as it is. */
function gzipped(): Plugin {
  return {
    name: 'gzipped',
    apply: 'build',
    // What was written, and not what is about to be: other plugins change it to the last moment.
    writeBundle({ dir }, bundle) {
      for (const name of Object.keys(bundle)) {
        const file = join(dir ?? 'dist', name);
        writeFileSync(`${file}.gz`, gzipSync(readFileSync(file), { level: 9 }));
      }
    },
  };
}

export default defineConfig({
  plugins: [svelte(), gzipped()],
  build: {
    target: 'es2022',
    // Everything is loaded from our own address: a data: address would need a wider policy for scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  worker: { format: 'es' },
  server: { proxy: { '/api': process.env['BOWLINE_URL'] ?? 'http://127.0.0.1:7420' } },
});

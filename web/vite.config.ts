import { svelte } from '@sveltejs/vite-plugin-svelte';
import { gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

/** A compressed copy beside every text file, so that the server sends it as it is. */
function gzipped(): Plugin {
  return {
    name: 'gzipped',
    apply: 'build',
    enforce: 'post',
    generateBundle(_options, bundle) {
      for (const [name, file] of Object.entries(bundle)) {
        const text = file.type === 'chunk' ? file.code : file.source;
        const source = gzipSync(text, { level: 9 });
        this.emitFile({ type: 'asset', fileName: `${name}.gz`, source });
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

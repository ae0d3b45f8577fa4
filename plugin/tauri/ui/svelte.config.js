// Runes everywhere; CSS in a file of its own, since the window's policy allows no inline style.

export default {
  compilerOptions: {
    runes: true,
    css: 'external',
    // By content, not by path: the same sources build the same files in every folder.
    cssHash: ({ hash, css }) => `s-${hash(css)}`,
  },
};

//! Renderers: one file per output format.

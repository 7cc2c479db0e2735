//! The studio's calls and its page, asked as a browser asks.

mod access;
mod files;
mod gateway;
mod runs;
mod saving;
mod texts;

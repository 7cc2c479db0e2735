//! LLM proxy: governance and cache planning for any client that speaks OpenAI's or Anthropic's interfaces.

pub mod database;
pub mod keys;
mod proxy;
pub mod records;

//! LLM proxy: governance and cache planning for any client that speaks OpenAI's or Anthropic's interfaces.

mod keys;
mod proxy;
mod records;

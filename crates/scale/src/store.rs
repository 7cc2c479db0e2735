//! Values that are too large to be written again and again: kept once, by their hash.

use std::collections::HashMap;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use stave_canon::Value;
use stave_exec::{Acceptance, Document};

use crate::client::RestateClient;
use crate::error::ScaleError;
use crate::keys::{ProjectKey, STORE};

/// The largest text that is written as it is.
pub const INLINE_BYTES: usize = 16 * 1024;
/// How many bytes of texts a process remembers.
const REMEMBERED_BYTES: usize = 64 * 1024 * 1024;

/// A text, or the hash of one that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Packed {
    Text(String),
    Stored(String),
}

/// What this process knows of the texts that Restate keeps.
#[derive(Debug)]
pub(crate) struct Store {
    client: Arc<RestateClient>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    texts: HashMap<String, Arc<str>>,
    /// The keys in the order in which they came, and how much they hold together.
    order: VecDeque<String>,
    bytes: usize,
}

impl Packed {
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Packed::Text(text) => Value::from_iter([("text", text.as_str())]),
            Packed::Stored(hash) => Value::from_iter([("stored", hash.as_str())]),
        }
    }

    pub(crate) fn of_value(value: &Value) -> Option<Packed> {
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        text("text").map(Packed::Text).or_else(|| text("stored").map(Packed::Stored))
    }

    /// The hash under which it is kept.
    pub(crate) fn stored(&self) -> Option<&str> {
        match self {
            Packed::Text(_) => None,
            Packed::Stored(hash) => Some(hash),
        }
    }
}

impl Store {
    pub(crate) fn new(client: Arc<RestateClient>) -> Store {
        Store { client, known: Mutex::default() }
    }

    /// Packs a text of a run. One that is large is kept when this returns.
    pub(crate) async fn pack(
        &self,
        project: &ProjectKey,
        run: &str,
        text: String,
    ) -> Result<Packed, ScaleError> {
        if text.len() <= INLINE_BYTES {
            return Ok(Packed::Text(text));
        }
        let hash = stave_canon::sha256_hex(&text);
        self.put(&project.stored(run, &hash), text).await?;
        Ok(Packed::Stored(hash))
    }

    pub(crate) async fn unpack(
        &self,
        project: &ProjectKey,
        run: &str,
        packed: &Packed,
    ) -> Result<Arc<str>, ScaleError> {
        match packed {
            Packed::Text(text) => Ok(Arc::from(text.as_str())),
            Packed::Stored(hash) => self.get(&project.stored(run, hash), hash).await,
        }
    }

    /// Keeps a document, and gives the hash that names it.
    pub(crate) async fn put_document(
        &self,
        project: &ProjectKey,
        document: &Document,
    ) -> Result<String, ScaleError> {
        let text = stave_exec::to_value(document).to_string();
        let hash = stave_canon::sha256_hex(&text);
        self.put(&project.document(&hash), text).await?;
        Ok(hash)
    }

    pub(crate) async fn document(&self, project: &ProjectKey, hash: &str) -> Result<Document, ScaleError> {
        let text = self.get(&project.document(hash), hash).await?;
        let value = stave_canon::parse(&text).map_err(|error| ScaleError::Damaged(error.to_string()))?;
        stave_exec::read(&value, Acceptance::Additive).map_err(|faults| {
            let first = faults.first().map_or_else(String::new, ToString::to_string);
            ScaleError::Damaged(format!("a document cannot be read: {first}"))
        })
    }

    async fn put(&self, key: &str, text: String) -> Result<(), ScaleError> {
        if self.remembered(key).is_some() {
            return Ok(());
        }
        self.client.call_bytes(STORE, key, "put", Bytes::from(text.clone())).await?;
        self.remember(key, Arc::from(text));
        Ok(())
    }

    async fn get(&self, key: &str, hash: &str) -> Result<Arc<str>, ScaleError> {
        if let Some(text) = self.remembered(key) {
            return Ok(text);
        }
        let bytes = self.client.call_bytes(STORE, key, "get", Bytes::new()).await?;
        let text = std::str::from_utf8(&bytes).ok().filter(|text| stave_canon::sha256_hex(text) == *hash);
        let text = text.ok_or_else(|| ScaleError::Damaged(format!("{hash} is not what its hash says")))?;
        let text: Arc<str> = Arc::from(text);
        self.remember(key, Arc::clone(&text));
        Ok(text)
    }

    fn remembered(&self, key: &str) -> Option<Arc<str>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).texts.get(key).cloned()
    }

    fn remember(&self, key: &str, text: Arc<str>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.bytes += text.len();
        if let Some(before) = known.texts.insert(key.to_owned(), text) {
            known.bytes -= before.len();
            return;
        }
        known.order.push_back(key.to_owned());
        while known.bytes > REMEMBERED_BYTES
            && let Some(oldest) = known.order.pop_front()
        {
            if let Some(text) = known.texts.remove(&oldest) {
                known.bytes -= text.len();
            }
        }
    }
}

//! Reads keys, flows and project files again while the server serves: when they change, and on SIGHUP.
//!
//! Invariant: an unreadable file is reported, and the server keeps its previous content. SIGHUP does not end the server.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use stave_canon::sha256_hex;
use stave_server::{Keys, Server};

use super::flows::Flows;
use super::log::Log;
use crate::changes::Changes;
use crate::exit::Stop;
use crate::files;

/// The file with the server's keys.
#[derive(Debug)]
pub(super) struct KeysFile {
    path: PathBuf,
    /// What came of reading it last: the digest of its text, or what was wrong.
    last: Mutex<Result<String, String>>,
}

/// The flows that are read again.
#[derive(Debug, Clone)]
pub(super) struct Reloading {
    pub(super) server: Server,
    pub(super) flows: Arc<Mutex<Flows>>,
    pub(super) log: Log,
}

impl KeysFile {
    pub(super) fn load(path: &Path) -> Result<(KeysFile, Keys), Stop> {
        let (keys, digest) = read(path)?;
        Ok((KeysFile { path: path.to_owned(), last: Mutex::new(Ok(digest)) }, keys))
    }

    /// Takes the keys that the file has now. A file that has not changed since it was last read is passed over, unless
    /// somebody asked for it.
    fn reload(&self, server: &Server, is_asked: bool, log: &Log) {
        let found = read(&self.path);
        let outcome = match &found {
            Ok((_, digest)) => Ok(digest.clone()),
            Err(stop) => Err(stop.to_string()),
        };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if *last == outcome && !is_asked {
            return;
        }
        *last = outcome;
        match found {
            Ok((keys, _)) => {
                server.exchange_keys(keys);
                log.info("keys-reloaded", &format!("the keys in {} were read again", self.path.display()));
            }
            Err(stop) => {
                log.stop("keys-failed", &stop);
                log.warn("keys-kept", "the server keeps the keys that it had");
            }
        }
    }
}

fn read(path: &Path) -> Result<(Keys, String), Stop> {
    files::check_keys_file(path)?;
    let text = files::read_text(path)?;
    let keys = Keys::parse(&text).map_err(|error| Stop::invalid(format!("{}: {error}", path.display())))?;
    Ok((keys, sha256_hex(&text)))
}

impl Reloading {
    /// Serves what the files have now.
    fn reload(&self) {
        let mut flows = self.flows.lock().unwrap_or_else(PoisonError::into_inner);
        match flows.load(Some(&self.server.catalog())) {
            Ok(loaded) if loaded.is_changed => {
                let names = loaded.names.join(", ");
                self.server.exchange(loaded.catalog);
                self.log.info("flows-reloaded", &format!("serving {names}"));
            }
            Ok(_) => {}
            Err(stop) => self.log.stop("reload-failed", &stop),
        }
    }
}

/// Serves flows anew when their files change.
pub(super) fn watch_flows(paths: &[PathBuf], secrets: &[PathBuf], reloading: Reloading) -> Result<(), Stop> {
    let changes = Changes::watch_whole(paths, secrets)?;
    let runtime = tokio::runtime::Handle::current();
    in_background("changes", move || {
        // Clients are made inside the asynchronous runtime.
        let _inside = runtime.enter();
        while changes.wait() {
            reloading.reload();
        }
    })
}

/// Takes other keys when their file changes.
pub(super) fn watch_keys(file: Arc<KeysFile>, server: Server, log: Log) -> Result<(), Stop> {
    let changes = Changes::watch(std::slice::from_ref(&file.path))?;
    in_background("keys", move || {
        while changes.wait() {
            file.reload(&server, false, &log);
        }
    })
}

fn in_background(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Stop> {
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    thread.map(drop).map_err(|error| Stop::internal(format!("files cannot be watched: {error}")))
}

/// Reads everything again on SIGHUP: the keys, and the flows if they are reloaded at all.
#[cfg(unix)]
pub(super) fn on_hangup(
    keys: Option<Arc<KeysFile>>,
    flows: Option<Reloading>,
    server: Server,
    log: Log,
) -> Result<(), Stop> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut asked = signal(SignalKind::hangup())
        .map_err(|error| Stop::internal(format!("SIGHUP cannot be waited for: {error}")))?;
    tokio::spawn(async move {
        while asked.recv().await.is_some() {
            let (keys, flows, server, told) = (keys.clone(), flows.clone(), server.clone(), log.clone());
            let reading = tokio::task::spawn_blocking(move || {
                if let Some(keys) = keys {
                    keys.reload(&server, true, &told);
                }
                if let Some(flows) = flows {
                    flows.reload();
                }
            });
            if reading.await.is_err() {
                log.warn(
                    "reload-failed",
                    "the files could not be read again; the server continues as it was",
                );
            }
        }
    });
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn on_hangup(
    _: Option<Arc<KeysFile>>,
    _: Option<Reloading>,
    _: Server,
    _: Log,
) -> Result<(), Stop> {
    Ok(())
}

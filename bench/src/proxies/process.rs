//! A proxy's process: started, waited for, accounted for, ended.

use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::contest::Error;
use crate::cost;

use super::Folder;

/// How long a proxy may take to listen.
const LONGEST_START: Duration = Duration::from_secs(180);

#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    address: SocketAddr,
    _folder: Option<Folder>,
}

impl Running {
    /// Starts a process and waits until it listens. What it says goes into a file.
    pub(crate) fn start(mut command: Command, address: SocketAddr, said: &Path) -> Result<Running, Error> {
        let failed = |error: std::io::Error| Error::Failed(error.to_string());
        let output = File::create(said).map_err(failed)?;
        let errors = output.try_clone().map_err(failed)?;
        let child = command.stdin(Stdio::null()).stdout(output).stderr(errors).spawn().map_err(failed)?;
        let mut running = Running { child, address, _folder: None };
        let begun = Instant::now();
        while TcpStream::connect_timeout(&address, Duration::from_millis(200)).is_err() {
            let ended = running.child.try_wait().map_err(failed)?;
            if ended.is_some() || begun.elapsed() > LONGEST_START {
                let said = fs::read_to_string(said).unwrap_or_default();
                let last: Vec<&str> = said.lines().rev().take(3).collect();
                return Err(Error::Failed(format!("it does not listen: {}", last.join(" | "))));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(running)
    }

    pub(super) fn with_folder(mut self, folder: Folder) -> Running {
        self._folder = Some(folder);
        self
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it has used so far, all its threads together.
    pub(crate) fn cpu(&self) -> Duration {
        cost::process(self.child.id())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An address on this machine that nobody listens on.
pub(crate) fn free_address() -> Result<SocketAddr, Error> {
    let listener = TcpListener::bind("127.0.0.1:0");
    listener.and_then(|listener| listener.local_addr()).map_err(|error| Error::Failed(error.to_string()))
}

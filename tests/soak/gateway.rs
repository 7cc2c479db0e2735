//! The gateway as a process, and what it holds and leaves behind.

use std::fs;
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::upstream::Upstream;

#[derive(Debug)]
pub(crate) struct Gateway {
    folder: tempfile::TempDir,
    child: Child,
    address: SocketAddr,
}

/// What a process holds at a moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Level {
    /// Bytes.
    pub(crate) memory: u64,
    pub(crate) descriptors: usize,
}

/// What was written down.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Records {
    pub(crate) count: u64,
    /// How many different ids and sessions they have.
    pub(crate) ids: u64,
    pub(crate) sessions: u64,
}

impl Gateway {
    pub(crate) async fn start(faulty: &Upstream, steady: &Upstream) -> Gateway {
        let folder = tempfile::tempdir().expect("a folder");
        let settings = format!(
            "[gateway.upstreams.faulty]\nprovider = \"openai\"\nendpoint = \"http://{}/v1\"\nkey = \"${{secrets.SOAK_KEY}}\"\n\
             models = [\"gpt-*\"]\nfirst_byte_ms = 800\nidle_ms = 800\n\
             [gateway.upstreams.steady]\nprovider = \"openai\"\nendpoint = \"http://{}/v1\"\nkey = \"${{secrets.SOAK_KEY}}\"\n\
             [gateway.models.safe]\ntargets = [\"faulty/gpt-4o-mini\"]\nfallback = [\"steady/gpt-4o-mini\"]\n\
             [gateway.retries]\nattempts = 1\nbackoff_ms = 1\nlongest_ms = 20\nshare_percent = 100\nburst = 10000\n\
             [gateway.breaker]\nfailures = 1000000\n",
            faulty.address(),
            steady.address()
        );
        fs::write(folder.path().join("stave.toml"), settings).expect("a project file");
        let program = std::env::var("STAVE_SOAK_PROGRAM");
        let program = program.unwrap_or_else(|_| env!("CARGO_BIN_EXE_stave").to_owned());
        let mut child = Command::new(program)
            .args(["gateway", "--listen", "127.0.0.1:0"])
            .current_dir(folder.path())
            .env("SOAK_KEY", "sk-soak")
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the gateway starts");
        let mut lines = BufReader::new(child.stderr.take().expect("stderr is piped")).lines();
        let address = loop {
            let line =
                lines.next_line().await.expect("stderr can be read").expect("the gateway says where it is");
            if let Some((_, address)) = line.split_once("http://") {
                break address.trim().parse().expect("an address");
            }
        };
        child.stderr = None;
        let mut rest = lines.into_inner();
        // A writer to a pipe that nobody reads would wait for ever.
        tokio::task::spawn(async move { rest.read_to_end(&mut Vec::new()).await });
        Gateway { folder, child, address }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn level(&self) -> Level {
        let process = format!("/proc/{}", self.child.id().expect("the gateway runs"));
        let pages = fs::read_to_string(format!("{process}/statm")).expect("readable");
        let pages: u64 = pages.split(' ').nth(1).and_then(|text| text.parse().ok()).expect("a number");
        let descriptors = fs::read_dir(format!("{process}/fd")).expect("readable").count();
        Level { memory: pages * 4096, descriptors }
    }

    /// Asks the gateway to end, waits for it, and looks at what it left.
    pub(crate) async fn stop(mut self) -> Records {
        let id = i32::try_from(self.child.id().expect("the gateway runs")).expect("ids are small");
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(id), nix::sys::signal::Signal::SIGTERM)
            .expect("the gateway is there");
        let ended = tokio::time::timeout(Duration::from_secs(60), self.child.wait()).await;
        let status = ended.expect("the gateway ends in time").expect("it can be waited for");
        assert!(status.success(), "the gateway ended with {status}");
        let path = self.folder.path().join(".stave/gateway.sqlite");
        let connection = rusqlite::Connection::open(path).expect("the file can be opened");
        connection
            .query_row(
                "SELECT COUNT(*), COUNT(DISTINCT id), COUNT(DISTINCT session) FROM request",
                [],
                |row| {
                    let count = |index| row.get::<_, i64>(index).map(i64::unsigned_abs);
                    Ok(Records { count: count(0)?, ids: count(1)?, sessions: count(2)? })
                },
            )
            .expect("records")
    }
}

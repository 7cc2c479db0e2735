//! Servers of the tests' own: a free port, a temporary folder, gone with the test.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How long a server may take to answer. A busy machine starts one in seconds.
const PATIENCE: Duration = Duration::from_secs(90);

/// Where Debian keeps the program, which is not on everybody's path.
const MARIADBD: &str = "/usr/sbin/mariadbd";

/// A running server.
pub(crate) struct Server {
    pub(crate) address: String,
    child: Child,
    _folder: TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn redis() -> Server {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let mut command = Command::new("redis-server");
    command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
    command.arg("--dir").arg(folder.path());
    let child = start(&mut command, "redis-server");
    await_port(port);
    Server { address: format!("redis://127.0.0.1:{port}/0"), child, _folder: folder }
}

pub(crate) fn mariadb() -> Server {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut install = Command::new("mariadb-install-db");
    install.arg("--no-defaults").arg(format!("--datadir={}", data.display()));
    install.args(["--auth-root-authentication-method=normal", "--skip-test-db"]);
    let user = whoami();
    install.arg(format!("--user={user}"));
    let output = install.output().unwrap_or_else(|error| missing("mariadb-install-db", &error));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let port = free_port();
    let mut command = Command::new(if Path::new(MARIADBD).exists() { MARIADBD } else { "mariadbd" });
    command.arg("--no-defaults").arg(format!("--datadir={}", data.display()));
    command.args([&format!("--port={port}"), "--bind-address=127.0.0.1", &format!("--user={user}")]);
    command.arg(format!("--socket={}", folder.path().join("socket").display()));
    command.args([
        "--skip-networking=0",
        "--innodb-flush-log-at-trx-commit=0",
        "--innodb-buffer-pool-size=32M",
    ]);
    command.arg("--init-file").arg(initial(&folder));
    let child = start(&mut command, "mariadbd");
    await_port(port);
    Server { address: format!("mysql://stave:secret@127.0.0.1:{port}/features"), child, _folder: folder }
}

/// The statements that make the database and its user.
fn initial(folder: &TempDir) -> std::path::PathBuf {
    let path = folder.path().join("initial.sql");
    let statements = "CREATE DATABASE features CHARACTER SET utf8mb4;\nCREATE USER 'stave'@'127.0.0.1' IDENTIFIED BY 'secret';\n\
                      GRANT ALL ON features.* TO 'stave'@'127.0.0.1';\n";
    std::fs::write(&path, statements).unwrap();
    path
}

fn whoami() -> String {
    let output = Command::new("id").arg("-un").output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn start(command: &mut Command, program: &str) -> Child {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap_or_else(|error| missing(program, &error))
}

fn missing(program: &str, error: &std::io::Error) -> ! {
    panic!("{program} can not be started ({error}); tests/servers.sh installs it")
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn await_port(port: u16) {
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let began = Instant::now();
    while TcpStream::connect(address).is_err() {
        assert!(began.elapsed() < PATIENCE, "the server on port {port} does not answer");
        std::thread::sleep(Duration::from_millis(50));
    }
}

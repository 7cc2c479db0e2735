//! Servers of the tests' own: a free port, a temporary folder, gone with the test.

use std::net::TcpListener;
use std::os::unix::net::UnixStream;
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
    let socket = folder.path().join("socket");
    let (child, port) = start("redis-server", &socket, |port| {
        let mut command = Command::new("redis-server");
        command.args(["--port", &port.to_string(), "--bind", "127.0.0.1"]);
        command.args(["--save", "", "--appendonly", "no"]);
        command.arg("--dir").arg(folder.path()).arg("--unixsocket").arg(&socket);
        command
    });
    Server { address: format!("redis://127.0.0.1:{port}/0"), child, _folder: folder }
}

pub(crate) fn mariadb() -> Server {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    // A server that starts clears away what others have for temporary tables in the folder for such.
    let temporary = folder.path().join("temporary");
    std::fs::create_dir(&temporary).unwrap();
    let mut install = Command::new("mariadb-install-db");
    install.env("TMPDIR", &temporary);
    install.arg("--no-defaults").arg(format!("--datadir={}", data.display()));
    install.args(["--auth-root-authentication-method=normal", "--skip-test-db"]);
    let user = whoami();
    install.arg(format!("--user={user}"));
    let output = install.output().unwrap_or_else(|error| missing("mariadb-install-db", &error));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (socket, statements) = (folder.path().join("socket"), initial(&folder));
    let (child, port) = start("mariadbd", &socket, |port| {
        let mut command = Command::new(if Path::new(MARIADBD).exists() { MARIADBD } else { "mariadbd" });
        command.env("TMPDIR", &temporary);
        command.arg("--no-defaults").arg(format!("--datadir={}", data.display()));
        command.args([&format!("--port={port}"), "--bind-address=127.0.0.1", &format!("--user={user}")]);
        command.arg(format!("--socket={}", socket.display()));
        command.args([
            "--skip-networking=0",
            "--innodb-flush-log-at-trx-commit=0",
            "--innodb-buffer-pool-size=32M",
        ]);
        command.arg("--init-file").arg(&statements);
        command
    });
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

/// Starts a server on a free port. Its socket in its own folder is there once it has the port, which somebody else
/// may take before it does; then it ends, and another port is tried.
fn start(program: &str, socket: &Path, command: impl Fn(u16) -> Command) -> (Child, u16) {
    let began = Instant::now();
    loop {
        let port = free_port();
        let mut command = command(port);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap_or_else(|error| missing(program, &error));
        while child.try_wait().unwrap().is_none() {
            if UnixStream::connect(socket).is_ok() {
                return (child, port);
            }
            assert!(began.elapsed() < PATIENCE, "{program} on port {port} does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(began.elapsed() < PATIENCE, "{program} does not start");
    }
}

fn missing(program: &str, error: &std::io::Error) -> ! {
    panic!("{program} cannot be started ({error}); tests/servers.sh installs it")
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

//! Restate servers of a test's own: free ports, temporary folders, gone with the test.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::folder::Folder;

/// How long a server may take to answer. A busy machine starts one in seconds.
const PATIENCE: Duration = Duration::from_secs(120);

/// One node or three that are one cluster.
pub(crate) struct Cluster {
    nodes: Vec<Node>,
    folder: Folder,
}

struct Node {
    name: String,
    admin: u16,
    ingress: u16,
    process: Option<Child>,
}

impl Cluster {
    /// Starts so many nodes and waits until all of them answer. Somebody else may take a free port before a node
    /// does, which then ends; so other ports are tried.
    pub(crate) fn start(count: usize) -> Cluster {
        let mut cluster = Cluster::begin(count);
        for _ in 0..3 {
            if (0..count).all(|index| cluster.comes_up(index)) {
                return cluster;
            }
            cluster = Cluster::begin(count);
        }
        (0..count).for_each(|index| cluster.await_node(index));
        cluster
    }

    fn begin(count: usize) -> Cluster {
        let folder = Folder::new();
        let ports = free_ports(3 * count);
        let fabric: Vec<u16> = ports.iter().skip(2 * count).copied().collect();
        let peers: Vec<String> = fabric.iter().map(|port| format!("\"http://127.0.0.1:{port}\"")).collect();
        let mut nodes = Vec::new();
        for index in 0..count {
            let (name, admin, ingress) = (format!("n{}", index + 1), ports[2 * index], ports[2 * index + 1]);
            let settings = format!(
                "node-name = \"{name}\"\ncluster-name = \"stave\"\nbase-dir = \"{}\"\nbind-ip = \"127.0.0.1\"\n\
                 bind-port = {}\nadvertised-host = \"127.0.0.1\"\nlisten-mode = \"tcp\"\n\
                 auto-provision = {}\ndefault-num-partitions = 4\ndefault-replication = {}\n\
                 disable-telemetry = true\nrocksdb-total-memory-size = \"512 MiB\"\nlog-filter = \"warn\"\n\
                 [metadata-client]\naddresses = [{}]\n[admin]\nbind-port = {admin}\n[ingress]\nbind-port = {ingress}\n",
                folder.path().display(),
                fabric[index],
                index == 0,
                if count > 1 { 2 } else { 1 },
                peers.join(", "),
            );
            folder.write(&format!("{name}.toml"), settings);
            nodes.push(Node { name, admin, ingress, process: None });
        }
        let mut cluster = Cluster { nodes, folder };
        for index in 0..count {
            cluster.start_node(index);
        }
        cluster
    }

    /// Starts a node that was killed, with what it has kept.
    pub(crate) fn start_node(&mut self, index: usize) {
        let folder = self.folder.path();
        let node = &mut self.nodes[index];
        let log =
            std::fs::File::create(folder.join(format!("{}.log", node.name))).expect("a log can be written");
        let settings = folder.join(format!("{}.toml", node.name));
        let child = Command::new(program())
            .args(["--no-logo", "--config-file"])
            .arg(settings)
            .env("DO_NOT_TRACK", "1")
            // A server that is killed leaves its temporary folders behind.
            .env("TMPDIR", folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a log can be written twice"))
            .stderr(log)
            .spawn();
        let child =
            child.unwrap_or_else(|error| panic!("{}: {error}; run tests/restate.sh", program().display()));
        node.process = Some(child);
    }

    /// Waits until a node answers.
    pub(crate) fn await_node(&mut self, index: usize) {
        if !self.comes_up(index) {
            let log = format!("{}.log", self.nodes[index].name);
            panic!("Restate does not answer:\n{}", self.folder.read(&log));
        }
    }

    /// Whether a node answers before it ends and before patience does.
    fn comes_up(&mut self, index: usize) -> bool {
        let node = &mut self.nodes[index];
        let begun = Instant::now();
        while !(answers(node.admin, "/health") && answers(node.ingress, "/restate/health")) {
            let has_ended =
                node.process.as_mut().is_none_or(|process| process.try_wait().is_ok_and(|end| end.is_some()));
            if has_ended || begun.elapsed() > PATIENCE {
                return false;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        true
    }

    /// Kills a node without warning.
    pub(crate) fn kill_node(&mut self, index: usize) {
        if let Some(mut process) = self.nodes[index].process.take() {
            process.kill().expect("a server that runs can be killed");
            process.wait().expect("a killed server ends");
        }
    }

    pub(crate) fn admin(&self) -> String {
        self.addresses(|node| node.admin)
    }

    pub(crate) fn ingress(&self) -> String {
        self.addresses(|node| node.ingress)
    }

    pub(crate) fn admin_port(&self, index: usize) -> u16 {
        self.nodes[index].admin
    }

    fn addresses(&self, port: impl Fn(&Node) -> u16) -> String {
        let addresses = self.nodes.iter().map(|node| format!("http://127.0.0.1:{}", port(node)));
        addresses.collect::<Vec<_>>().join(",")
    }

    /// The arguments that name this cluster.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let texts =
            ["--engine", "restate", "--restate-url", &self.admin(), "--restate-ingress", &self.ingress()];
        texts.map(str::to_owned).to_vec()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for index in 0..self.nodes.len() {
            self.kill_node(index);
        }
    }
}

fn program() -> PathBuf {
    if let Some(program) = std::env::var_os("STAVE_RESTATE_SERVER") {
        return program.into();
    }
    let (system, machine) = match (std::env::consts::OS, std::env::consts::ARCH) {
        ("macos", "aarch64") => ("darwin", "arm64"),
        ("macos", _) => ("darwin", "x64"),
        (_, "aarch64") => ("linux", "arm64"),
        _ => ("linux", "x64"),
    };
    let package =
        format!("restate/node_modules/@restatedev/restate-server-{system}-{machine}/bin/restate-server");
    // This program lies in a folder of the target folder, and the server is installed there too.
    let here = std::env::current_exe().expect("a program knows where it is");
    let found = here.ancestors().map(|folder| folder.join(&package)).find(|server| server.is_file());
    found.unwrap_or_else(|| PathBuf::from("restate-server"))
}

fn answers(port: u16, path: &str) -> bool {
    use std::io::{Read, Write};
    let Ok(mut stream) = std::net::TcpStream::connect(("127.0.0.1", port)) else { return false };
    let _ = stream.set_read_timeout(Some(Duration::from_secs(2)));
    let request = format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n");
    if stream.write_all(request.as_bytes()).is_err() {
        return false;
    }
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).is_ok() && answer.ends_with(b"200")
}

/// Ports that nobody listens on. They are all held until all are known, so no two are the same.
pub(crate) fn free_ports(count: usize) -> Vec<u16> {
    let held: Vec<TcpListener> =
        (0..count).map(|_| TcpListener::bind("127.0.0.1:0").expect("a port can be bound")).collect();
    held.iter().map(|listener| listener.local_addr().expect("a bound port has an address").port()).collect()
}

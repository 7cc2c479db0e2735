//! Proxies under load: an upstream that always answers, clients that always ask, and the processes between.
//!
//! Upstream and clients are threads of this program; only the process between them is accounted for.

pub(crate) mod clients;
pub(crate) mod process;
pub(crate) mod upstream;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;

use crate::contest::{Contestant, Error};
use crate::cost::Cost;
use crate::machine::Machine;

use self::clients::Clients;
use self::process::Running;
pub(crate) use self::upstream::Upstream;

/// What clients ask again and again.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) path: &'static str,
    pub(crate) bodies: Rc<Vec<String>>,
}

/// A proxy, and the clients that ask it.
pub(crate) struct Proxy {
    process: Rc<Running>,
    clients: Clients,
}

/// How many connections ask at the same time.
const CONNECTIONS: usize = 16;

impl Proxy {
    fn warmed_up(
        process: Rc<Running>,
        ask: &Ask,
        headers: &str,
        warm_up: u64,
    ) -> Result<Box<dyn Contestant>, Error> {
        let mut clients = Clients::connect(process.address(), CONNECTIONS, ask, headers)?;
        clients.ask(warm_up)?;
        Ok(Box::new(Proxy { process, clients }))
    }
}

impl Contestant for Proxy {
    fn answer(&mut self) -> Result<String, Error> {
        let answer = self.clients.ask(1)?;
        // Proxies add fields of their own; the words of the model are the same.
        let has_words = answer.contains(upstream::WORDS);
        Ok(if has_words { upstream::WORDS.to_owned() } else { answer })
    }

    fn sample(&mut self, iterations: u64) -> Result<Cost, Error> {
        let before = self.process.cpu();
        let wall = std::time::Instant::now();
        self.clients.ask(iterations)?;
        Ok(Cost { wall: wall.elapsed(), cpu: self.process.cpu().saturating_sub(before) })
    }
}

/// What the gateway does with a request besides passing it on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Care {
    /// Keys, policies, sensitivity gates, the cache plan, a record.
    All,
    /// The same without the cache plan.
    Unplanned,
    /// Keys and a record only.
    Plain,
}

/// `stave gateway` with a virtual key that has rates and a budget.
pub(crate) fn stave(machine: &Machine, upstream: &Upstream, care: Care) -> Result<Rc<StaveGateway>, Error> {
    let program = machine.programs.join("stave");
    if !program.is_file() {
        return Err(Error::Missing("run `cargo build --release -p stave-cli`".to_owned()));
    }
    let folder = Folder::new(&format!("stave-{care:?}"))?;
    let switches = match care {
        Care::All => "",
        Care::Unplanned => "planning = false\n",
        Care::Plain => "planning = false\ngate = false\ngovernance = \"off\"\n",
    };
    let address = upstream.address();
    let settings = format!(
        "[gateway]\n{switches}\
         [gateway.upstreams.chat]\nprovider = \"openai\"\nendpoint = \"http://{address}/v1\"\nkey = \"${{secrets.UPSTREAM_KEY}}\"\nmodels = [\"gpt-*\"]\n\
         [gateway.upstreams.messages]\nprovider = \"anthropic\"\nendpoint = \"http://{address}/v1\"\nkey = \"${{secrets.UPSTREAM_KEY}}\"\nmodels = [\"claude-*\"]\n"
    );
    folder.write("stave.toml", &settings)?;
    let issued = Command::new(&program)
        .args(["keys", "issue", "bench", "--requests-per-minute", "1000000000", "--budget-day", "1000000000"])
        .current_dir(&folder.path)
        .stderr(Stdio::null())
        .output()
        .map_err(|error| Error::Failed(error.to_string()))?;
    let key = String::from_utf8_lossy(&issued.stdout).trim().to_owned();
    let listen = process::free_address()?;
    let mut command = Command::new(&program);
    command
        .args(["gateway", "--listen", &listen.to_string()])
        .current_dir(&folder.path)
        .env("UPSTREAM_KEY", "sk-upstream");
    let process = Rc::new(Running::start(command, listen, &folder.path.join("said.txt"))?);
    Ok(Rc::new(StaveGateway { process, key, _folder: folder }))
}

pub(crate) struct StaveGateway {
    process: Rc<Running>,
    key: String,
    _folder: Folder,
}

impl StaveGateway {
    pub(crate) fn contestant(&self, ask: &Ask) -> Result<Box<dyn Contestant>, Error> {
        let headers = format!(
            "authorization: Bearer {0}\r\nx-api-key: {0}\r\nanthropic-version: 2023-06-01\r\n",
            self.key
        );
        Proxy::warmed_up(Rc::clone(&self.process), ask, &headers, 200)
    }
}

/// nginx as a plain proxy: one worker, connections kept open on both sides, nothing logged.
pub(crate) fn nginx(upstream: &Upstream) -> Result<Rc<Running>, Error> {
    let folder = Folder::new("nginx")?;
    let listen = process::free_address()?;
    let path = folder.path.display();
    let configuration = format!(
        "daemon off;\nmaster_process off;\nworker_processes 1;\npid {path}/pid;\nerror_log {path}/error.log crit;\n\
         events {{ worker_connections 1024; }}\n\
         http {{\n access_log off;\n client_body_buffer_size 1m;\n client_max_body_size 10m;\n\
          client_body_temp_path {path}/body;\n proxy_temp_path {path}/proxy;\n fastcgi_temp_path {path}/fastcgi;\n\
          uwsgi_temp_path {path}/uwsgi;\n scgi_temp_path {path}/scgi;\n keepalive_requests 100000000;\n\
          upstream up {{ server {}; keepalive 64; keepalive_requests 100000000; }}\n\
          server {{ listen {listen};\n  location / {{ proxy_pass http://up; proxy_http_version 1.1; proxy_set_header Connection \"\"; }} }}\n}}\n",
        upstream.address()
    );
    folder.write("nginx.conf", &configuration)?;
    let program =
        ["/usr/sbin/nginx", "/usr/local/sbin/nginx"].into_iter().find(|path| Path::new(path).is_file());
    let Some(program) = program else {
        return Err(Error::Missing("install the package `nginx-light`".to_owned()));
    };
    let mut command = Command::new(program);
    command.arg("-p").arg(&folder.path).arg("-c").arg(folder.path.join("nginx.conf"));
    Ok(Rc::new(Running::start(command, listen, &folder.path.join("said.txt"))?.with_folder(folder)))
}

/// Portkey's gateway from npm, on Node.
pub(crate) fn portkey(machine: &Machine) -> Result<Rc<Running>, Error> {
    let script = machine.peers().join("portkey/node_modules/@portkey-ai/gateway/build/start-server.js");
    if !script.is_file() {
        return Err(Error::Missing("run `bench/peers.sh`".to_owned()));
    }
    let folder = Folder::new("portkey")?;
    let listen = process::free_address()?;
    let mut command = Command::new("node");
    command
        .arg(script)
        .arg(format!("--port={}", listen.port()))
        .arg("--headless")
        .env("NODE_ENV", "production");
    Ok(Rc::new(Running::start(command, listen, &folder.path.join("said.txt"))?.with_folder(folder)))
}

/// LiteLLM's proxy from PyPI, as it is installed, with one worker and without a database.
pub(crate) fn litellm(machine: &Machine, upstream: &Upstream) -> Result<Rc<Running>, Error> {
    let program = machine.peers().join("litellm/bin/litellm");
    if !program.is_file() {
        return Err(Error::Missing("run `bench/peers.sh`".to_owned()));
    }
    let folder = Folder::new("litellm")?;
    let settings = format!(
        "model_list:\n  - model_name: gpt-4o-mini\n    litellm_params:\n      model: openai/gpt-4o-mini\n      \
         api_base: http://{}/v1\n      api_key: sk-upstream\n",
        upstream.address()
    );
    folder.write("litellm.yaml", &settings)?;
    let listen = process::free_address()?;
    let mut command = Command::new(program);
    command
        .arg("--config")
        .arg(folder.path.join("litellm.yaml"))
        .args(["--host", "127.0.0.1", "--num_workers", "1", "--port", &listen.port().to_string()])
        .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        .env("LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY", "true")
        .env("NO_PROXY", "127.0.0.1");
    Ok(Rc::new(Running::start(command, listen, &folder.path.join("said.txt"))?.with_folder(folder)))
}

/// A contestant that asks a running proxy.
pub(crate) fn contestant(
    process: &Result<Rc<Running>, Error>,
    ask: &Ask,
    headers: &str,
    warm_up: u64,
) -> Result<Box<dyn Contestant>, Error> {
    match process {
        Ok(process) => Proxy::warmed_up(Rc::clone(process), ask, headers, warm_up),
        Err(Error::Missing(how)) => Err(Error::Missing(how.clone())),
        Err(Error::Failed(why)) => Err(Error::Failed(why.clone())),
    }
}

/// A folder that goes with its owner.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
}

impl Folder {
    fn new(name: &str) -> Result<Folder, Error> {
        let path = std::env::temp_dir().join(format!("stave-bench-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).map_err(|error| Error::Failed(format!("{}: {error}", path.display())))?;
        Ok(Folder { path })
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Error> {
        fs::write(self.path.join(name), text).map_err(|error| Error::Failed(error.to_string()))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is left to the system, which empties its temporary folder.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// An address as a client writes it.
fn host(address: SocketAddr) -> String {
    format!("host: {address}\r\n")
}

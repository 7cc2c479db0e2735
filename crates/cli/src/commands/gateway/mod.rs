//! `stave gateway`: governance and cache planning for any client.

mod config;
mod stats;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use stave_canon::Clock;
use stave_gateway::database::{Evidence, EvidenceSettings, FILE};
use stave_gateway::{Gateway, GatewayConfig, GatewayOptions};
use stave_request::planning::{CachePlanners, KeptPlanners};

pub(crate) use self::stats::Stats as GatewayStats;
use crate::args::{Gateway as Arguments, GatewayAction};
use crate::exit::{Exit, Stop};
use crate::files;
use crate::ports::{RandomIds, SystemClock};
use crate::project::{LISTEN, Project};
use crate::services;
use crate::signals::asked_to_end;
use crate::state_folder;
use crate::terminal::{self, Terminal};
use crate::tracing::Tracing;

pub(crate) fn gateway(arguments: &Arguments, terminal: Terminal) -> Result<Exit, Stop> {
    if let Some(GatewayAction::Stats(arguments)) = &arguments.action {
        return stats::stats(arguments, terminal);
    }
    let project = config::project(&arguments.project)?;
    let config = config::read(&project)?;
    let folder = state_folder::path(&project, arguments.state_dir.as_deref());
    files::make_all_private();
    files::create_private_folder(&folder)
        .map_err(|error| Stop::internal(format!("{} cannot be made: {error}", folder.display())))?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let path = folder.join(FILE);
    files::prepare_database(&path)?;
    let evidence = Evidence::open(&path, Arc::clone(&clock), EvidenceSettings::default())
        .map_err(|error| Stop::internal(format!("{}: {error}", path.display())))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Stop::internal(format!("the runtime cannot be started: {error}")))?;
    let listen = arguments.listen.or(project.settings.gateway.listen).unwrap_or(LISTEN);
    refuse_open(arguments, listen, &evidence)?;
    let planners = services::kept_planners(folder)?;
    let ports = Ports { evidence: &evidence, planners: Arc::new(planners), clock };
    let exit = runtime.block_on(serve(arguments, &project, listen, config, ports, terminal));
    runtime.shutdown_timeout(Duration::from_secs(1));
    // Everything that was left behind is in the file before the process ends.
    evidence.flush();
    exit
}

/// Beyond this machine, somebody has to decide who may ask.
fn refuse_open(arguments: &Arguments, listen: SocketAddr, evidence: &Evidence) -> Result<(), Stop> {
    if listen.ip().is_loopback() || arguments.without_keys || evidence.keys().count() > 0 {
        return Ok(());
    }
    let stop = Stop::refused(format!("{} can be reached from elsewhere, and there are no keys", listen.ip()));
    Err(stop.help(
        "make a key with `stave keys`, or give --without-keys when something in front of the gateway decides who may ask",
    ))
}

/// What the gateway keeps things in and takes the time from.
struct Ports<'e> {
    evidence: &'e Evidence,
    planners: Arc<KeptPlanners>,
    clock: Arc<dyn Clock>,
}

async fn serve(
    arguments: &Arguments,
    project: &Project,
    listen: SocketAddr,
    config: GatewayConfig,
    ports: Ports<'_>,
    terminal: Terminal,
) -> Result<Exit, Stop> {
    let tracing = Tracing::of(project);
    let Ports { evidence, planners, clock } = ports;
    let options = GatewayOptions {
        keys: evidence.keys(),
        sink: evidence.sink(),
        clock,
        ids: Arc::new(RandomIds),
        planners: Arc::clone(&planners) as Arc<dyn CachePlanners>,
        tracer: tracing.requests(),
        version: env!("CARGO_PKG_VERSION"),
    };
    let names: Vec<String> = config.upstreams.iter().map(|upstream| upstream.name.clone()).collect();
    let gateway = Gateway::new(config, options).map_err(|error| Stop::invalid(error.to_string()))?;
    let listener = tokio::net::TcpListener::bind(listen)
        .await
        .map_err(|error| Stop::internal(format!("{listen} cannot be listened on: {error}")))?;
    let address = listener.local_addr().unwrap_or(listen);
    terminal::error(&format!("gateway to {} on http://{address}", names.join(", ")));
    let end = async {
        asked_to_end().await;
        terminal::error("shutting down: draining in-flight requests");
    };
    let reloading = reload(gateway.clone(), arguments.project.clone(), terminal);
    let left = tokio::select! {
        left = gateway.serve(listener, end) => left,
        () = reloading => 0,
    };
    if left > 0 {
        terminal::error(&format!("{left} requests were broken off"));
    }
    tracing.finish().await;
    Ok(Exit::Fine)
}

/// Reads the project file again whenever the process is asked to. What is wrong with it is said, and the
/// gateway keeps its settings.
#[cfg(unix)]
async fn reload(gateway: Gateway, folder: PathBuf, terminal: Terminal) {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut asked) = signal(SignalKind::hangup()) else { return std::future::pending().await };
    while asked.recv().await.is_some() {
        let read = config::project(&folder).and_then(|project| config::read(&project));
        let exchanged = read
            .and_then(|config| gateway.exchange(config).map_err(|error| Stop::invalid(error.to_string())));
        match exchanged {
            Ok(()) => terminal::error("stave.toml was read again"),
            Err(stop) => {
                terminal.stop(&stop);
                terminal::error("the gateway continues as it was");
            }
        }
    }
    std::future::pending::<()>().await;
}

#[cfg(not(unix))]
async fn reload(_: Gateway, _: PathBuf, _: Terminal) {
    std::future::pending::<()>().await;
}

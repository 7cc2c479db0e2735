//! A Python with the official SDKs, and an upstream that answers as both providers do.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::folder::repository;

/// The packages that are talked to.
const PACKAGES: [&str; 2] = ["openai", "anthropic"];

/// A running upstream. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct PythonUpstream {
    pub(crate) port: u16,
    _process: Child,
}

/// A Python that has the SDKs, in an environment below `target`; `None` where there is no Python or
/// the packages cannot be fetched.
pub(crate) async fn python_with_sdks() -> Option<PathBuf> {
    static MAKING: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
    let _one = MAKING.lock().await;
    let environment = repository().join("target/sdk-venv");
    let python = environment.join("bin/python");
    let has_them = async || {
        let asked = Command::new(&python).args(["-c", "import openai, anthropic"]).output().await;
        asked.is_ok_and(|output| output.status.success())
    };
    if has_them().await {
        return Some(python);
    }
    let made = Command::new("python3").args(["-m", "venv"]).arg(&environment).output().await;
    let install = Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(PACKAGES).output();
    let is_made = made.is_ok_and(|output| output.status.success());
    if is_made {
        let _ = tokio::time::timeout(Duration::from_secs(600), install).await;
    }
    if is_made && has_them().await {
        return Some(python);
    }
    None
}

pub(crate) fn program() -> PathBuf {
    repository().join("tests/program/gateway/sdk_client.py")
}

impl PythonUpstream {
    pub(crate) async fn start(python: &Path) -> PythonUpstream {
        let mut process = Command::new(python)
            .arg(program())
            .arg("upstream")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("python starts");
        let stdout = process.stdout.take().expect("stdout is piped");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).await.expect("the upstream says its port");
        PythonUpstream { port: line.trim().parse().expect("a port"), _process: process }
    }
}

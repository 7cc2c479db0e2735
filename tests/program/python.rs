//! Python with packages from PyPI, for the clients that others wrote.

use std::path::PathBuf;
use std::time::Duration;

use tokio::process::Command;

use crate::folder::repository;

/// A Python that can import `module`, in an environment of its own below `target`; `None` where there is no
/// Python or the package cannot be fetched.
pub(crate) async fn python_with(package: &str, module: &str) -> Option<PathBuf> {
    let environment = repository().join(format!("target/{module}-venv"));
    let python = environment.join("bin/python");
    let can_import = async || {
        let asked = Command::new(&python).args(["-c", &format!("import {module}")]).output().await;
        asked.is_ok_and(|output| output.status.success())
    };
    if can_import().await {
        return Some(python);
    }
    let made = Command::new("python3").args(["-m", "venv"]).arg(&environment).output().await;
    let pip = async || {
        let install = Command::new(&python).args(["-m", "pip", "install", "--quiet", package]).output();
        let installed = tokio::time::timeout(Duration::from_secs(600), install).await;
        installed.is_ok_and(|output| output.is_ok_and(|output| output.status.success()))
    };
    if made.is_ok_and(|output| output.status.success()) && pip().await && can_import().await {
        return Some(python);
    }
    None
}

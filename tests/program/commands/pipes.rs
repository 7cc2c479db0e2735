//! A pipe, a device or a socket in the place of a file is refused at once by every reader.

use std::path::Path;

use nix::sys::stat::Mode;

use super::sample::asker;
use crate::folder::Folder;
use crate::process::stave;

fn pipe(folder: &Folder, name: &str) {
    let path = folder.path().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    nix::unistd::mkfifo(&path, Mode::from_bits_truncate(0o600)).unwrap();
}

fn socket(folder: &Folder, name: &str) -> std::os::unix::net::UnixListener {
    std::os::unix::net::UnixListener::bind(folder.path().join(name)).unwrap()
}

/// A project in which something else is where files are looked for.
fn project() -> Folder {
    let folder = Folder::new();
    folder.write("stave.toml", "[http]\nallow = [\"127.0.0.1\"]\n");
    folder.write("flow.yaml", asker(9));
    folder.write("request.json", r#"{"q": "Why?"}"#);
    pipe(&folder, "pipe.yaml");
    std::os::unix::fs::symlink("pipe.yaml", folder.path().join("link.yaml")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", folder.path().join("zero.yaml")).unwrap();
    folder
}

#[tokio::test]
async fn every_command_refuses_what_is_no_file() {
    let folder = project();
    let _socket = socket(&folder, "socket.yaml");
    let run = ["run", "flow.yaml", "--ephemeral"];
    for name in ["pipe.yaml", "link.yaml", "zero.yaml", "socket.yaml"] {
        let commands: Vec<Vec<&str>> = vec![
            vec!["check", name],
            vec!["fmt", name],
            vec!["graph", name],
            vec!["diff", "flow.yaml", name],
            vec!["merge", "flow.yaml", name, "flow.yaml"],
            vec!["edit", name, "--schema"],
            vec!["test", name],
            vec!["compile", name, "--out", "out"],
            vec!["run", name, "--input", "request.json"],
            run.into_iter().chain(["--input", name]).collect(),
            run.into_iter().chain(["--input", "request.json", "--replay", name]).collect(),
            vec!["exec", "show", name],
            vec!["exec", "validate", name],
            vec!["system", "show", name],
            vec!["bundle", "verify", name],
            vec!["prompt", "check", name],
            vec!["cache", "analyze", name],
            vec!["features", "import", name, "--group", "g", "--key", "k"],
            vec!["serve", "--api-keys", name, "--listen", "127.0.0.1:0"],
        ];
        for command in commands {
            // A command that waited for the pipe would never end.
            let finished = stave(&folder, command.iter().copied()).finish().await;
            if command[0] != "edit" {
                assert_ne!(finished.code, 0, "{command:?}\n{finished}");
            }
        }
    }
}

#[tokio::test]
async fn a_project_with_pipes_in_its_folders_is_not_waited_for() {
    for name in
        ["policies/p.yaml", "features/rows.jsonl", "models/m.json", "flows/other.yaml", "recordings/r.yaml"]
    {
        let folder = project();
        pipe(&folder, name);
        assert!(Path::new(name).extension().is_some());
        let arguments = ["run", "flow.yaml", "--input", "request.json", "--ephemeral"];
        stave(&folder, arguments).finish().await;
        stave(&folder, ["check", "."]).finish().await;
    }
}

#[tokio::test]
async fn a_project_file_that_is_no_file_stops_the_command() {
    type Make = fn(&Folder);
    let kinds: [(&str, Make); 3] = [
        ("folder", |folder| std::fs::create_dir(folder.path().join("stave.toml")).unwrap()),
        ("pipe", |folder| pipe(folder, "stave.toml")),
        ("link to nothing", |folder| {
            std::os::unix::fs::symlink("gone", folder.path().join("stave.toml")).unwrap();
        }),
    ];
    for (kind, make) in kinds {
        let folder = Folder::new();
        folder.write("flow.yaml", asker(9));
        folder.write("request.json", r#"{"q": "Why?"}"#);
        make(&folder);
        for command in [
            vec!["check", "flow.yaml"],
            vec!["run", "flow.yaml", "--input", "request.json"],
            vec!["serve", "flow.yaml"],
        ] {
            let finished = stave(&folder, &command).finish().await;
            assert!(finished.code > 1, "{kind}: {command:?}\n{finished}");
            assert!(finished.stderr.contains("stave.toml"), "{kind}: {command:?}\n{finished}");
        }
        assert!(!folder.has(".stave"), "{kind}");
    }
}

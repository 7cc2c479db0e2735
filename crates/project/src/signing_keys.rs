//! Keys that sign bundles and manifests, read from their files.

use std::path::Path;

use stave_system::sign::{PublicKey, SecretKey};
use zeroize::Zeroizing;

use crate::exit::Stop;
use crate::files;

/// A secret key from its file. A file that others can read is refused.
pub fn read_secret(path: &Path) -> Result<SecretKey, Stop> {
    refuse_shared(path)?;
    let text = Zeroizing::new(files::read_text(path)?);
    SecretKey::from_pem(&text).map_err(|error| {
        let name = path.display();
        if PublicKey::from_pem(&text).is_ok() {
            return Stop::invalid(format!("{name} is a public key, and signing takes the secret one"))
                .help("name the file that ends in .key");
        }
        Stop::invalid(format!("{name} {error}"))
            .help("`stave keys signing new NAME` makes a key to sign with")
    })
}

/// A public key from the text of its file, or from 64 hexadecimal digits.
pub fn read_public(text: &str, path: &Path) -> Result<PublicKey, Stop> {
    PublicKey::from_pem(text).or_else(|_| PublicKey::from_hex(text)).map_err(|error| {
        let name = path.display();
        if SecretKey::from_pem(text).is_ok() {
            return Stop::invalid(format!("{name} is a secret key, and a trusted key is a public one"))
                .help("name the file that ends in .pub");
        }
        Stop::invalid(format!("{name} {error}"))
            .help("a public key is a .pub file of `stave keys signing new`, or 64 hexadecimal digits")
    })
}

#[cfg(unix)]
fn refuse_shared(path: &Path) -> Result<(), Stop> {
    use std::os::unix::fs::PermissionsExt;
    let Ok(metadata) = std::fs::metadata(path) else { return Ok(()) };
    if metadata.permissions().mode() & 0o077 == 0 {
        return Ok(());
    }
    let stop = Stop::refused(format!("{} can be read by others", path.display()));
    Err(stop.help(format!("chmod 600 {}", path.display())))
}

#[cfg(not(unix))]
fn refuse_shared(_: &Path) -> Result<(), Stop> {
    Ok(())
}

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use mesh_core::manifest::Bus;

use super::Unfit;

/// What is in the way of a server of the mesh's own on this machine; nothing, where it can be raised. `folder` is
/// the bus's, at which relative paths begin.
///
/// A port is tried by listening on it for a moment. That the server has TLS alone needs no look: nothing else
/// can be composed.
#[must_use]
pub fn beside(bus: &Bus, folder: &Path) -> Vec<Unfit> {
    let mut found = Vec::new();
    for (field, address) in [("bus.listen", bus.listen), ("bus.monitor", bus.monitor)] {
        match taken(address) {
            Ok(false) => {}
            Ok(true) => found.push(Unfit::PortTaken { field, address }),
            Err(why) => {
                found.push(Unfit::Unseen {
                    what: format!("{field} {address}"),
                    why: why.to_string(),
                });
            }
        }
    }
    let store = folder.join(bus.store_dir.as_str());
    match first_in(&store) {
        Ok(None) => {}
        Ok(Some(first)) => found.push(Unfit::StoreTaken {
            folder: store.display().to_string(),
            found: first.display().to_string(),
        }),
        Err(why) => {
            let what = store.display().to_string();
            found.push(Unfit::Unseen { what, why: why.to_string() });
        }
    }
    for (field, path) in [("bus.tls.cert", &bus.tls.cert), ("bus.tls.key", &bus.tls.key)] {
        let path = folder.join(path.as_str());
        if let Err(why) = std::fs::File::open(&path) {
            let what = format!("{field}: {}", path.display());
            found.push(Unfit::Unseen { what, why: why.to_string() });
        }
    }
    found
}

fn taken(address: SocketAddr) -> io::Result<bool> {
    match TcpListener::bind(address) {
        Ok(_) => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(true),
        Err(error) => Err(error),
    }
}

fn first_in(folder: &Path) -> io::Result<Option<PathBuf>> {
    let mut entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(entries.next().transpose()?.map(|entry| entry.path()))
}

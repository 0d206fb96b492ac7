//! What a server leaves in its indexes, so that commands on the same machine find it.

use std::{
    fs,
    io::Write,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use trefoil::{Error, Result};

use crate::settings::IndexSettings;

/// The file below the directory of an index, which its owner alone reads.
const FILE: &str = "server.json";

/// A server that serves an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalServer {
    /// Where it listens.
    pub address: SocketAddr,
    /// Its process.
    pub pid: u32,
    /// A token that lives as long as it does; absent where none is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Whether it answers at `/mcp`.
    pub mcp: bool,
    /// What its requests call the index.
    pub index: String,
}

/// Files that say where a server is, removed when it is gone.
#[derive(Debug)]
pub(crate) struct Announced {
    server: LocalServer,
    files: Vec<AnnouncedIn>,
}

/// The file in one index.
#[derive(Debug)]
struct AnnouncedIn {
    path: PathBuf,
    server: LocalServer,
}

impl Announced {
    /// A server that is announced nowhere yet; of `server`, the index is not looked at.
    pub(crate) const fn new(server: LocalServer) -> Self {
        Self { server, files: Vec::new() }
    }

    /// Writes a file into each of these indexes, and removes those of all others.
    ///
    /// # Errors
    /// [`Error::Io`] if one cannot be written.
    pub(crate) fn follow(&mut self, indexes: &[IndexSettings]) -> Result<()> {
        let mut before = std::mem::take(&mut self.files);
        for IndexSettings { name, dir, .. } in indexes.iter().filter(|index| index.dir.is_dir()) {
            let (path, server) =
                (dir.join(FILE), LocalServer { index: name.clone(), ..self.server.clone() });
            let is_there = |file: &AnnouncedIn| file.path == path && file.server == server;
            if let Some(place) = before.iter().position(is_there) {
                self.files.push(before.swap_remove(place));
            } else {
                write(&path, dir, &server).map_err(|error| Error::io("write", &path, error))?;
                self.files.push(AnnouncedIn { path, server });
            }
        }
        Ok(())
    }
}

impl Drop for AnnouncedIn {
    fn drop(&mut self) {
        // Another server may have written its own since.
        if read(&self.path).as_ref() == Some(&self.server) {
            drop(fs::remove_file(&self.path));
        }
    }
}

fn write(path: &Path, dir: &Path, server: &LocalServer) -> std::io::Result<()> {
    // A temporary file has mode 0600.
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(&serde_json::to_vec(server)?)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

fn read(path: &Path) -> Option<LocalServer> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// The server that serves the index in `dir`, if one does: a file that a killed server left is
/// ignored, for nobody listens at its address.
pub fn living_server(dir: &Path) -> Option<LocalServer> {
    let server = read(&dir.join(FILE))?;
    let wait = std::time::Duration::from_millis(500);
    std::net::TcpStream::connect_timeout(&server.address, wait).ok()?;
    Some(server)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_found_while_it_lives() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let index = |name: &str, dir: PathBuf| IndexSettings {
            name: name.to_owned(),
            dir,
            engine: trefoil::EngineConfig::default(),
        };
        let (notes, gone) = (index("notes", dir.to_owned()), index("gone", dir.join("gone")));
        let named = |index: &str| LocalServer {
            address,
            pid: 1,
            token: Some("tfl_a_b".to_owned()),
            mcp: true,
            index: index.to_owned(),
        };
        assert_eq!(living_server(dir), None);
        let mut announced = Announced::new(named(""));
        announced.follow(&[notes.clone(), gone.clone()]).unwrap();
        assert_eq!(living_server(dir), Some(named("notes")));
        announced.follow(&[gone]).unwrap();
        assert_eq!(living_server(dir), None);
        announced.follow(&[index("work", dir.to_owned())]).unwrap();
        assert_eq!(living_server(dir), Some(named("work")));
        announced.follow(&[notes]).unwrap();
        assert_eq!(living_server(dir), Some(named("notes")));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(dir.join(FILE)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        drop(listener);
        assert_eq!(living_server(dir), None);
        assert!(dir.join(FILE).exists());
        drop(announced);
        assert!(!dir.join(FILE).exists());
    }
}

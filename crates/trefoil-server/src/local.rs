//! What a server leaves in its indexes, so that commands on the same machine find it.

use std::{
    fs,
    io::Write,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use trefoil::{Error, Result};

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
}

/// Files that say where a server is, removed when it is gone.
#[derive(Debug, Default)]
pub(crate) struct Announced(Vec<(PathBuf, LocalServer)>);

impl Announced {
    /// Writes one into each directory.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be written.
    pub(crate) fn new<'d>(
        server: &LocalServer,
        dirs: impl Iterator<Item = &'d Path>,
    ) -> Result<Self> {
        let mut announced = Self::default();
        for dir in dirs.filter(|dir| dir.is_dir()) {
            let path = dir.join(FILE);
            write(&path, dir, server).map_err(|error| Error::io("write", &path, error))?;
            announced.0.push((path, server.clone()));
        }
        Ok(announced)
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        for (path, server) in &self.0 {
            // Another server may have written its own since.
            if read(path).as_ref() == Some(server) {
                drop(fs::remove_file(path));
            }
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
        let server = LocalServer { address, pid: 1, token: Some("tfl_a_b".to_owned()) };
        assert_eq!(living_server(dir), None);
        let announced =
            Announced::new(&server, [dir, Path::new("/not/there")].into_iter()).unwrap();
        assert_eq!(living_server(dir), Some(server.clone()));
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

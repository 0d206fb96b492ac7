//! On what kind of file system a path is.

use std::path::Path;

/// File systems whose files another machine may cut, or take away, while they are mapped.
const REMOTE: [&str; 17] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "9p",
    "virtiofs",
    "ceph",
    "lustre",
    "afs",
    "coda",
    "gpfs",
    "beegfs",
    "glusterfs",
    "gfs2",
    "ocfs2",
    "orangefs",
];

/// Whether `path` is on a network file system, where a file must not be mapped: one that is cut
/// or lost ends the process with SIGBUS. Read from the mount table of Linux; elsewhere, and where
/// that cannot be read, it is taken for local.
pub fn is_remote(path: &Path) -> bool {
    let Ok(table) = std::fs::read_to_string("/proc/self/mountinfo") else { return false };
    let Ok(path) = path.canonicalize() else { return false };
    file_system(&table, &path).is_some_and(|kind| {
        // What a program of the user serves: sshfs, rclone, s3fs; `fuseblk` is a local disk.
        REMOTE.contains(&kind) || kind == "fuse" || kind.starts_with("fuse.")
    })
}

/// The type of the file system that `path` is on, by a table in the form of proc(5).
fn file_system<'t>(table: &'t str, path: &Path) -> Option<&'t str> {
    let mounts = table.lines().filter_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        let point = mount.split(' ').nth(4)?.replace("\\040", " ");
        let depth = Path::new(&point).components().count();
        path.starts_with(&point).then_some((depth, kind.split(' ').next()?))
    });
    // Of mounts at one point the last is in sight.
    mounts.max_by_key(|(depth, _)| *depth).map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:26 / /home rw shared:2 - ext4 /dev/sda2 rw
31 30 0:40 / /home/ada/notes rw shared:3 - nfs4 server:/notes rw
32 30 0:41 / /home/ada/my\\040box rw shared:4 - fuse.sshfs ada@box: rw
33 22 8:3 / /mnt/usb rw shared:5 - fuseblk /dev/sdb1 rw
34 33 8:4 / /mnt/usb rw shared:6 - ext4 /dev/sdc1 rw
";

    #[test]
    fn the_innermost_mount_decides() {
        for (path, expected) in [
            ("/etc/hosts", "ext4"),
            ("/home/ada/notes", "nfs4"),
            ("/home/ada/notes/index/store.db", "nfs4"),
            ("/home/ada/notes2", "ext4"),
            ("/home/ada/my box/index", "fuse.sshfs"),
            ("/mnt/usb/x", "ext4"),
        ] {
            assert_eq!(file_system(TABLE, Path::new(path)), Some(expected), "{path}");
        }
        assert_eq!(file_system("", Path::new("/")), None);
    }

    #[test]
    fn a_folder_of_the_tests_is_local() {
        assert!(!is_remote(Path::new(env!("CARGO_MANIFEST_DIR"))));
        assert!(!is_remote(Path::new("/no/such/folder")));
    }
}

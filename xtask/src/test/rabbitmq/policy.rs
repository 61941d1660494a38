//! While it is forbidden, no package that is installed starts a service: Debian's `policy-rc.d`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where Debian looks for it.
pub(super) const FOLDER: &str = "/usr/sbin";

/// 101 is Debian's word for "not allowed".
const POLICY: &str =
    "#!/bin/sh\n# Put here by `cargo xtask test` for as long as it installs a package.\nexit 101\n";

/// Restores what was before when it is lifted or dropped.
#[must_use]
pub(super) struct Forbidden {
    folder: Option<PathBuf>,
}

impl Forbidden {
    /// Puts the policy in force in one step; another that is there is kept beside it.
    pub(super) fn in_folder(folder: &Path) -> io::Result<Self> {
        heal(folder)?;
        let [file, kept, next] = files(folder);
        let forbidden = Self { folder: Some(folder.to_owned()) };
        fs::write(&next, POLICY)?;
        executable(&next)?;
        match fs::hard_link(&file, &kept) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => fs::rename(&next, &file)?,
        }
        Ok(forbidden)
    }

    /// Restores what was before.
    pub(super) fn lift(mut self) -> io::Result<()> {
        self.folder.take().map_or(Ok(()), |folder| heal(&folder))
    }
}

impl Drop for Forbidden {
    fn drop(&mut self) {
        if let Some(folder) = self.folder.take() {
            // Who returns an error has told it, and the next run heals what is left.
            let _ = heal(&folder);
        }
    }
}

/// Restores what was before, also after a run that was killed. Whatever is in force and is not ours
/// stays.
pub(super) fn heal(folder: &Path) -> io::Result<()> {
    let [file, kept, next] = files(folder);
    let absent_is_fine = |done: io::Result<()>| match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    };
    let ours = fs::read(&file).is_ok_and(|text| text == POLICY.as_bytes());
    match (ours, fs::symlink_metadata(&kept).is_ok()) {
        (true, true) => fs::rename(&kept, &file)?,
        (true, false) => absent_is_fine(fs::remove_file(&file))?,
        (false, true) => absent_is_fine(fs::remove_file(&kept))?,
        (false, false) => {}
    }
    absent_is_fine(fs::remove_file(&next))
}

/// The policy, the one that was there before, and ours before it is in force.
fn files(folder: &Path) -> [PathBuf; 3] {
    ["policy-rc.d", "policy-rc.d.before-mesh", "policy-rc.d.of-mesh"].map(|name| folder.join(name))
}

#[cfg(unix)]
fn executable(program: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(program, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn executable(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder =
                std::env::temp_dir().join(format!("mesh-policy-{}-{name}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }

        fn write(&self, text: &str) {
            let file = self.0.join("policy-rc.d");
            fs::write(&file, text).unwrap();
            executable(&file).unwrap();
        }

        /// What the policy in force answers, if there is one.
        fn answer(&self) -> Option<i32> {
            Command::new("sh").arg(self.0.join("policy-rc.d")).status().unwrap().code()
        }

        fn names(&self) -> usize {
            fs::read_dir(&self.0).unwrap().count()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn services_are_forbidden_until_it_is_lifted_or_dropped() {
        let folder = Folder::new("none");
        let forbidden = Forbidden::in_folder(&folder.0).unwrap();
        assert_eq!(folder.answer(), Some(101));
        forbidden.lift().unwrap();
        assert_eq!(folder.names(), 0);
        drop(Forbidden::in_folder(&folder.0).unwrap());
        assert_eq!(folder.names(), 0);
    }

    #[test]
    fn another_policy_comes_back() {
        let folder = Folder::new("other");
        folder.write("exit 7\n");
        let forbidden = Forbidden::in_folder(&folder.0).unwrap();
        assert_eq!(folder.answer(), Some(101));
        drop(forbidden);
        assert_eq!((folder.answer(), folder.names()), (Some(7), 1));
    }

    #[test]
    fn what_a_killed_run_left_is_healed() {
        let folder = Folder::new("killed");
        folder.write("exit 7\n");
        std::mem::forget(Forbidden::in_folder(&folder.0).unwrap());
        heal(&folder.0).unwrap();
        assert_eq!((folder.answer(), folder.names()), (Some(7), 1));
        // Killed before it was in force.
        fs::hard_link(folder.0.join("policy-rc.d"), folder.0.join("policy-rc.d.before-mesh"))
            .unwrap();
        heal(&folder.0).unwrap();
        assert_eq!((folder.answer(), folder.names()), (Some(7), 1));
    }
}

use std::net::SocketAddr;

/// Where a composed file is to be read, as far as that differs from what the mesh file says. The default
/// differs in nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "callers name fields and take the rest from Default")]
pub struct Place {
    /// The bus's folder, at which relative paths of the mesh file begin. Without it they stand in the file
    /// as they are, and the server looks for them where it was started.
    pub folder: Option<String>,
    /// Where clients reach the server.
    pub listen: Option<SocketAddr>,
    /// Where it tells of itself; refused off loopback.
    pub monitor: Option<SocketAddr>,
    /// The files of its certificate and of the certificate's key.
    pub tls: Option<(String, String)>,
    /// Where its streams are kept.
    pub store_dir: Option<String>,
    /// The server's version, `2.15.1`, where it is known. What only some servers know is written for them
    /// alone: a server refuses a whole file for one key that it does not know.
    pub server: Option<(u32, u32, u32)>,
}

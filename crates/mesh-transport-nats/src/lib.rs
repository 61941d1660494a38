//! NATS behind the ports of mesh.

//! Where on a nats-server it is kept who has a seat.

use crate::name::SeatName;
use crate::subject::Subject;

/// Where on a nats-server it is kept who has a seat of the mesh: in the description of a stream that holds
/// nothing, beside the mesh's own, where the controller alone has the server's API.
///
/// A server makes a stream once: of two who make one of the same name with another description, the second is
/// refused. So a seat is taken by making it.
///
/// ```
/// use mesh_core::name::SeatName;
/// use mesh_core::topology::SeatAddress;
///
/// let seat = SeatAddress::of(SeatName::broker());
/// assert_eq!(seat.stream(), "SEAT_mesh-broker");
/// assert_eq!(SeatAddress::of_stream("SEAT_mesh-broker"), Some(seat));
/// # Ok::<(), mesh_core::name::NameError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeatAddress {
    seat: SeatName,
}

const STREAM: &str = "SEAT_";

impl SeatAddress {
    /// That of this seat.
    #[must_use]
    pub const fn of(seat: SeatName) -> Self {
        Self { seat }
    }

    /// The seat.
    #[must_use]
    pub const fn seat(&self) -> &SeatName {
        &self.seat
    }

    /// The stream's name.
    #[must_use]
    pub fn stream(&self) -> String {
        format!("{STREAM}{}", self.seat)
    }

    /// Whose stream that is.
    #[must_use]
    pub fn of_stream(name: &str) -> Option<Self> {
        Some(Self::of(SeatName::new(name.strip_prefix(STREAM)?).ok()?))
    }

    /// What the stream takes: a subject that nobody may publish to.
    #[must_use]
    pub fn subject(&self) -> Subject {
        Subject::from_checked(format!("mesh.seat.{}", self.seat))
    }

    /// An order to the server's API: the stream is made.
    #[must_use]
    pub fn create(&self) -> Subject {
        Subject::from_checked(format!("$JS.API.STREAM.CREATE.{STREAM}{}", self.seat))
    }

    /// A question to the server's API: what the stream says.
    #[must_use]
    pub fn inspect(&self) -> Subject {
        Subject::from_checked(format!("$JS.API.STREAM.INFO.{STREAM}{}", self.seat))
    }
}

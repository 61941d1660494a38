use super::super::{MxPath, MxRealm};
use super::DecodeError;
use super::read::{Entry, small};
use crate::json::{ObjectWriter, UnknownFields};

/// A command or event of a realm: where an envelope goes.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Address<'a> {
    /// The realm.
    pub realm: MxRealm<'a>,
    /// The path inside it.
    pub path: MxPath<'a>,
    /// Fields of this object that this version does not know.
    pub unknown: UnknownFields<'a>,
}

/// A realm and, where it is known, a path in it: who sends an envelope, and who is answered.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Party<'a> {
    /// The realm. Of a sender, it is a claim.
    pub realm: MxRealm<'a>,
    /// The path inside it.
    pub path: Option<MxPath<'a>>,
    /// Fields of this object that this version does not know.
    pub unknown: UnknownFields<'a>,
}

/// The names by which errors call an object and its two fields.
pub(super) type Names = [&'static str; 3];

impl<'a> Address<'a> {
    /// The address of `path` in `realm`.
    #[must_use]
    pub fn new(realm: impl Into<MxRealm<'a>>, path: MxPath<'a>) -> Self {
        Self { realm: realm.into(), path, unknown: UnknownFields::default() }
    }

    /// The address without a borrow.
    #[must_use]
    pub fn into_owned(self) -> Address<'static> {
        Address {
            realm: self.realm.into_owned(),
            path: self.path.into_owned(),
            unknown: self.unknown.into_owned(),
        }
    }

    pub(super) fn read(names: Names, entry: Entry<'a>) -> Result<Option<Self>, DecodeError> {
        let Some((party, at)) = Party::read_at(names, entry)? else {
            return Ok(None);
        };
        let path = Entry::new(names[2], None).required(party.path, at)?;
        Ok(Some(Self { realm: party.realm, path, unknown: party.unknown }))
    }

    pub(super) fn write(&self, out: &mut ObjectWriter<'_>) {
        write(out, &self.realm, Some(&self.path), &self.unknown);
    }
}

impl<'a> Party<'a> {
    /// `path` in `realm`, or the realm alone.
    #[must_use]
    pub fn new(realm: impl Into<MxRealm<'a>>, path: Option<MxPath<'a>>) -> Self {
        Self { realm: realm.into(), path, unknown: UnknownFields::default() }
    }

    /// The party without a borrow.
    #[must_use]
    pub fn into_owned(self) -> Party<'static> {
        Party {
            realm: self.realm.into_owned(),
            path: self.path.map(MxPath::into_owned),
            unknown: self.unknown.into_owned(),
        }
    }

    pub(super) fn read(names: Names, entry: Entry<'a>) -> Result<Option<Self>, DecodeError> {
        Ok(Self::read_at(names, entry)?.map(|(party, _)| party))
    }

    pub(super) fn write(&self, out: &mut ObjectWriter<'_>) {
        write(out, &self.realm, self.path.as_ref(), &self.unknown);
    }

    fn read_at(names: Names, entry: Entry<'a>) -> Result<Option<(Self, usize)>, DecodeError> {
        let [object, realm_name, path_name] = names;
        let Some((mut scanner, at)) = entry.object()? else {
            return Ok(None);
        };
        let ([realm, path], unknown) = small(object, &mut scanner, ["realm", "path"])?;
        let realm = Entry::new(realm_name, realm);
        let party = Self {
            realm: realm.required(realm.realm()?, at)?,
            path: Entry::new(path_name, path).path()?,
            unknown,
        };
        Ok(Some((party, at)))
    }
}

impl<'a> From<Address<'a>> for Party<'a> {
    fn from(address: Address<'a>) -> Self {
        Self { realm: address.realm, path: Some(address.path), unknown: address.unknown }
    }
}

fn write(
    out: &mut ObjectWriter<'_>,
    realm: &MxRealm<'_>,
    path: Option<&MxPath<'_>>,
    unknown: &UnknownFields<'_>,
) {
    out.string("realm", realm.as_str());
    if let Some(path) = path {
        out.string("path", path.as_str());
    }
    unknown.write(out);
}

//! Stub files: each represents a backing that is no file, and can keep its bytes.

use super::Source;
use crate::backing::{Backing, BackingSource};
use crate::lane::Post;
use crate::Aside;
use error::Error;
use file_io::{Identity, OpenFile};
use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;

/// A stub file and the backing that it represents.
#[derive(Clone, Debug)]
pub(crate) struct Stub {
    file: Arc<OpenFile>,
    backing: Arc<dyn Backing>,
}

/// The stub files of mappings.
#[derive(Debug, Default)]
pub(in crate::paging) struct Stubs(BTreeMap<Identity, Stub>);

impl Stubs {
    pub(super) fn add(&mut self, identity: Identity, stub: Stub) {
        self.0.insert(identity, stub);
    }

    pub(super) fn remove(&mut self, identity: Identity) {
        self.0.remove(&identity);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn contains(&self, identity: Identity) -> bool {
        self.0.contains_key(&identity)
    }

    /// The backing that a file represents.
    pub(super) fn backing(&self, identity: Identity) -> Option<&Arc<dyn Backing>> {
        self.0.get(&identity).map(|stub| &stub.backing)
    }

    /// The stream that a file represents.
    pub(super) fn stream(&self, identity: Identity) -> Option<Arc<dyn Backing>> {
        let backing = self.backing(identity)?;
        backing.is_stream().then(|| backing.clone())
    }

    /// The source for a backing, with its stub file: an existing one for the same peer, or this one.
    pub(in crate::paging) fn source(
        &mut self,
        post: &Post,
        file: File,
        backing: Box<dyn BackingSource>,
        label: String,
    ) -> Result<Source, Error> {
        let source = |identity, stub: Stub, label| Source {
            file: stub.file.clone(),
            identity,
            stub: Some(stub),
            label,
        };
        let failed = |source| Error::File {
            path: (&label).into(),
            what: "standing in for it",
            source,
        };
        let mut known = self.0.iter();
        let found = backing
            .address()
            .and_then(|address| known.find(|(_, known)| known.backing.address() == Some(address)));
        if let Some((identity, known)) = found {
            return match known.backing.failure() {
                None => Ok(source(*identity, known.clone(), label)),
                Some(why) => Err(Error::Unmappable {
                    path: label.into(),
                    rule: format!("it is mapped already and has failed; unmap it first: {why}"),
                }),
            };
        }
        let identity = file_io::identity(&file).map_err(failed)?;
        let post = post.clone();
        // It is memory, which does not block.
        let file = Arc::new(OpenFile::from(file));
        let started = backing.start(
            file.clone(),
            Box::new(move |done| post.send(Aside::from(done))),
        );
        let stub = Stub {
            file,
            backing: started.map_err(failed)?,
        };
        self.0.insert(identity, stub.clone());
        Ok(source(identity, stub, label))
    }
}

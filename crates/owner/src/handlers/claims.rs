//! The right to write a range of a file, as tasks take it and give it back.

use super::storage::Storage;
use crate::paging::{FileWait, Paging, View};
use crate::rooms::Room;
use error::Error;
use file_io::OpenFile;
use std::sync::Arc;

/// The claims on ranges of files.
#[derive(Clone)]
pub(crate) struct RangeClaims {
    pub(crate) paging: Room<Paging>,
    pub(crate) storage: Storage,
}

impl RangeClaims {
    /// Takes the right to write a range that is to be mapped; [`claim_ended`](Self::claim_ended) follows.
    pub(crate) async fn claim_range(
        &self,
        view: View,
        file: &Arc<OpenFile>,
        label: &str,
    ) -> Result<(), Error> {
        let refused = |rule| Error::Unmappable {
            path: label.into(),
            rule,
        };
        let awaited = FileWait {
            device: view.identity.device,
            label: label.to_owned(),
            what: "locking it",
        };
        let begun = self.paging.lend(|paging| paging.begin_claim(view));
        let locking = begun.map_err(refused)?;
        let file = file.clone();
        let locked = self
            .storage
            .in_lane(awaited, move || locking.lock(&file))
            .await;
        let locked = match locked {
            Ok(Ok(locked)) => Ok(locked),
            Ok(Err(rule)) => Err(refused(rule)),
            Err(silence) => Err(silence),
        };
        match locked {
            Ok(true) => Ok(()),
            Ok(false) => {
                self.paging.lend(|paging| paging.files().is_unlocked(label));
                Ok(())
            }
            Err(error) => {
                self.claim_ended(view).await;
                Err(error)
            }
        }
    }

    /// The mapping that claimed all of a range exists, or was refused.
    pub(crate) async fn claim_ended(&self, view: View) {
        self.paging.lend(|paging| paging.files().claim_ended(view));
        self.settle_claim(view).await;
    }

    /// Reduces the claim on a range to what writable mappings show.
    pub(crate) async fn settle_claim(&self, view: View) {
        let found = self.paging.lend(|paging| paging.files().keeping(view));
        let Some((keeping, label)) = found else {
            return;
        };
        let awaited = FileWait {
            device: view.identity.device,
            label,
            what: "unlocking it",
        };
        match self.storage.in_lane(awaited, move || keeping.keep()).await {
            Ok(()) => self.paging.lend(|paging| paging.files().settle_claim(view)),
            Err(error) => tracing::warn!(%error, "it stays claimed"),
        }
    }
}

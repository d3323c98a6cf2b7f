//! Tenants: clients that share a quota, across processes.

use super::handles::Handles;
use super::paging::Paging;
use super::rooms::Room;
use crate::message::ClientId;
use error::Error;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use wire::{TenantStatus, Use};

/// Limits on what the clients of a tenant hold together at any time; `None`: unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// Maximum number of slots with a kernel.
    pub slots: Option<u64>,
    /// Maximum number of address spaces.
    pub spaces: Option<u64>,
    /// Maximum number of file mappings and blocks of shared memory.
    pub mappings: Option<u64>,
    /// Maximum card memory for pages, in bytes, divided evenly among the maximum number of spaces.
    pub card_bytes: Option<u64>,
    /// Maximum duration of one build of a kernel, in seconds.
    pub build_seconds: Option<u64>,
}

/// Clients that share a quota.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenant {
    /// Unique name of the tenant.
    pub name: String,
    /// Limits of its clients together.
    pub quota: Quota,
}

/// A kind of object that a quota limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Counted {
    Slots,
    Spaces,
    Mappings,
}

impl Counted {
    const fn words(self) -> &'static str {
        match self {
            Self::Slots => "slots",
            Self::Spaces => "address spaces",
            Self::Mappings => "mappings",
        }
    }

    fn most(self, quota: Quota) -> Option<u64> {
        match self {
            Self::Slots => quota.slots,
            Self::Spaces => quota.spaces,
            Self::Mappings => quota.mappings,
        }
    }

    fn of(self, handles: &Handles, client: ClientId) -> u64 {
        let count = match self {
            Self::Slots => handles.slots(client).count(),
            Self::Spaces => handles.asids(client).count(),
            Self::Mappings => handles.ranges(client).count(),
        };
        count as u64
    }
}

/// The tenants of clients.
#[derive(Debug, Default)]
pub(super) struct Tenants {
    of: BTreeMap<ClientId, Arc<Tenant>>,
    /// Objects under construction, without a name yet.
    coming: BTreeMap<(String, Counted), u64>,
}

impl Tenants {
    /// Adds a client of a tenant.
    pub(super) fn add(&mut self, client: ClientId, tenant: Arc<Tenant>) {
        self.of.insert(client, tenant);
    }

    /// Drops a client that has gone.
    pub(super) fn forget(&mut self, client: ClientId) {
        self.of.remove(&client);
    }

    /// The tenant of a client.
    pub(super) fn of(&self, client: ClientId) -> Option<&Tenant> {
        self.of.get(&client).map(|tenant| &**tenant)
    }

    fn clients<'a>(&'a self, tenant: &'a Tenant) -> impl Iterator<Item = ClientId> + 'a {
        let all = self.of.iter();
        all.filter_map(|(client, of)| (of.name == tenant.name).then_some(*client))
    }

    /// Number of objects of a kind that a tenant uses.
    fn used(&self, handles: &Handles, tenant: &Tenant, counted: Counted) -> u64 {
        self.clients(tenant)
            .map(|client| counted.of(handles, client))
            .sum()
    }

    /// Maximum duration of one build of a client's kernel.
    pub(super) fn build_time(&self, client: ClientId) -> Option<Duration> {
        let seconds = self.of.get(&client)?.quota.build_seconds;
        seconds.map(Duration::from_secs)
    }

    /// Maximum card memory of one space of a client, in bytes.
    pub(super) fn bytes_of_space(&self, client: ClientId) -> Option<u64> {
        let quota = self.of.get(&client)?.quota;
        Some(quota.card_bytes? / quota.spaces.unwrap_or(1).max(1))
    }
}

/// The quotas of tenants, for requests that make an object.
#[derive(Clone)]
pub(super) struct Quotas {
    pub(super) handles: Room<Handles>,
    pub(super) tenants: Room<Tenants>,
}

/// Reservation in the quota of a tenant for one more object, until the object has a name.
pub(super) struct Reservation(Room<Tenants>, Option<(String, Counted)>);

impl Drop for Reservation {
    fn drop(&mut self) {
        let Some(place) = self.1.take() else {
            return;
        };
        self.0.lend(|tenants| {
            tenants.has_come(&place);
        });
    }
}

impl Quotas {
    /// Reserves one more object of a kind in the quota.
    ///
    /// # Errors
    /// [`Error::Quota`].
    pub(super) fn reserve(&self, client: ClientId, counted: Counted) -> Result<Reservation, Error> {
        self.handles.lend(|handles| {
            self.tenants.lend(|tenants| {
                let place = tenants.reserve(handles, client, counted)?;
                Ok(Reservation(self.tenants.clone(), place))
            })
        })
    }
}

impl Tenants {
    /// Reserves room in the quota for one more object; returns the reservation, if the client has a tenant.
    fn reserve(
        &mut self,
        handles: &Handles,
        client: ClientId,
        counted: Counted,
    ) -> Result<Option<(String, Counted)>, Error> {
        self.check_quota(handles, client, counted)?;
        let place = self.name_of(client).map(|tenant| (tenant, counted));
        if let Some(place) = &place {
            *self.coming.entry(place.clone()).or_default() += 1;
        }
        Ok(place)
    }

    /// Ends the reservation: the object has its name, or was refused.
    fn has_come(&mut self, place: &(String, Counted)) {
        if let Some(coming) = self.coming.get_mut(place) {
            *coming -= 1;
        }
    }

    /// Checks that a client may have one more object of a kind.
    ///
    /// # Errors
    /// [`Error::Quota`].
    pub(super) fn check_quota(
        &self,
        handles: &Handles,
        client: ClientId,
        counted: Counted,
    ) -> Result<(), Error> {
        let Some(tenant) = self.of.get(&client) else {
            return Ok(());
        };
        let Some(most) = counted.most(tenant.quota) else {
            return Ok(());
        };
        let place = (tenant.name.clone(), counted);
        let coming = self.coming.get(&place).copied().unwrap_or(0);
        let used = self.used(handles, tenant, counted) + coming;
        match used < most {
            true => Ok(()),
            false => Err(Error::Quota {
                tenant: tenant.name.clone(),
                what: counted.words(),
                used,
                most,
            }),
        }
    }

    /// The name of a client's tenant.
    pub(super) fn name_of(&self, client: ClientId) -> Option<String> {
        let tenant = self.of.get(&client)?;
        Some(tenant.name.clone())
    }

    /// Usage of each tenant with clients.
    pub(super) fn status(&self, handles: &Handles, paging: &Paging) -> Vec<TenantStatus> {
        let all = self.of.values();
        let all: BTreeMap<&str, &Tenant> = all.map(|one| (one.name.as_str(), &**one)).collect();
        let all = all.into_values();
        all.map(|tenant| self.status_of(handles, paging, tenant))
            .collect()
    }

    fn status_of(&self, handles: &Handles, paging: &Paging, tenant: &Tenant) -> TenantStatus {
        let counted = |counted: Counted| Use {
            used: self.used(handles, tenant, counted),
            most: counted.most(tenant.quota),
        };
        let spaces = self.clients(tenant);
        let spaces = spaces.flat_map(|client| handles.asids(client));
        let spaces: Vec<_> = spaces.collect();
        let on_card = paging.spaces();
        let on_card = on_card.filter(|(asid, ..)| spaces.contains(asid));
        TenantStatus {
            name: tenant.name.clone(),
            slots: counted(Counted::Slots),
            spaces: counted(Counted::Spaces),
            mappings: counted(Counted::Mappings),
            card_bytes: Use {
                used: on_card.map(|(_, _, (bytes, _))| bytes).sum(),
                most: tenant.quota.card_bytes,
            },
            clients: Use::default(),
            requests: Use::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Asid;

    fn quotas(quota: Quota, clients: &[u64]) -> Quotas {
        let quotas = Quotas {
            handles: Room::new(Handles::default()),
            tenants: Room::new(Tenants::default()),
        };
        let name = "lab".to_owned();
        let tenant = Arc::new(Tenant { name, quota });
        for client in clients {
            let client = ClientId(*client);
            let add = |tenants: &mut Tenants| tenants.add(client, tenant.clone());
            quotas.tenants.lend(add);
        }
        quotas
    }

    fn spaces(most: u64) -> Quota {
        Quota {
            spaces: Some(most),
            ..Quota::default()
        }
    }

    #[test]
    fn clients_of_a_tenant_share_its_quota_with_what_is_being_made() {
        let quotas = quotas(spaces(2), &[1, 2]);
        let asid = Asid::new(3).unwrap();
        quotas.handles.lend(|handles| {
            handles.add_space(ClientId(1), asid);
            // A space of a client without a tenant.
            handles.add_space(ClientId(7), Asid::new(4).unwrap());
        });
        let reserved = quotas.reserve(ClientId(2), Counted::Spaces).unwrap();
        for client in [1, 2] {
            let refused = quotas.reserve(ClientId(client), Counted::Spaces).err();
            let expected = Some(Error::Quota {
                tenant: "lab".into(),
                what: "address spaces",
                used: 2,
                most: 2,
            });
            assert_eq!(format!("{refused:?}"), format!("{expected:?}"));
        }
        // The kinds are counted apart, and clients without a tenant are unlimited.
        quotas.reserve(ClientId(2), Counted::Mappings).unwrap();
        quotas.reserve(ClientId(7), Counted::Spaces).unwrap();
        // It was refused.
        drop(reserved);
        quotas.reserve(ClientId(1), Counted::Spaces).unwrap();
    }

    #[test]
    fn a_client_that_has_gone_frees_its_part() {
        let quotas = quotas(spaces(1), &[1, 2]);
        let space = quotas.handles.lend(|handles| {
            let asid = Asid::new(3).unwrap();
            handles.add_space(ClientId(1), asid)
        });
        assert!(quotas.reserve(ClientId(2), Counted::Spaces).is_err());
        quotas.handles.lend(|handles| handles.end_space(space));
        quotas.tenants.lend(|tenants| tenants.forget(ClientId(1)));
        quotas.reserve(ClientId(2), Counted::Spaces).unwrap();
        // From now on it has no tenant.
        let name = quotas.tenants.lend(|tenants| tenants.name_of(ClientId(1)));
        assert_eq!(name, None);
    }

    #[test]
    fn card_memory_is_divided_among_the_spaces_that_a_tenant_may_have() {
        let bytes = |quota| {
            let quotas = quotas(quota, &[1]);
            let bytes = |tenants: &mut Tenants| tenants.bytes_of_space(ClientId(1));
            quotas.tenants.lend(bytes)
        };
        let card_bytes = Some(1 << 20);
        assert_eq!(bytes(spaces(4)), None);
        let quota = |spaces| Quota {
            card_bytes,
            ..spaces
        };
        assert_eq!(bytes(quota(spaces(4))), Some(1 << 18));
        assert_eq!(bytes(quota(Quota::default())), Some(1 << 20));
        assert_eq!(bytes(quota(spaces(0))), Some(1 << 20), "it may have none");
    }
}

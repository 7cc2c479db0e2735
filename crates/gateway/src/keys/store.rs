//! Keys in the file: issued, listed, revoked and rotated, beside a gateway that runs or without one.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};
use stave_canon::{Ids, Timestamp};
use stave_llm::Secret;
use stave_llm::prices::Cost;

use super::ledger::{Calendar, from_nanodollars, nanodollars};
use super::text::{self, KeyText};
use super::{KeyLimits, ModelPattern, StoredSecret};
use crate::database::{EvidenceError, connect, connect_to_read};

/// The keys of a file.
#[derive(Debug)]
pub struct KeyStore(Connection);

/// A key that is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewKey {
    pub name: String,
    pub tenant: String,
    pub models: Vec<ModelPattern>,
    pub limits: KeyLimits,
    pub is_admin: bool,
    pub expires_at: Option<Timestamp>,
}

/// A key that was made, with its text, which nobody can show again.
#[derive(Debug)]
pub struct IssuedKey {
    pub id: String,
    pub name: String,
    pub text: Secret,
}

/// A key as the file has it, with what it spent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedKey {
    pub id: String,
    pub name: String,
    pub tenant: String,
    pub models: Vec<ModelPattern>,
    pub limits: KeyLimits,
    pub is_admin: bool,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    /// With what requests under way have set aside.
    pub spent_today: Cost,
    pub spent_this_month: Cost,
    /// How many texts it can be presented with at the moment: two while a rotation has not ended.
    pub secrets: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyStoreError {
    #[error("there is no key `{0}`")]
    Unknown(String),
    #[error("`{0}` is already the name of a key")]
    NameTaken(String),
    #[error("`{0}` is not a name for a key: 1 to 80 letters, digits, spaces, `.`, `_` and `-`")]
    BadName(String),
    #[error("the key `{0}` is revoked")]
    Revoked(String),
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
}

/// A key as the file has it.
#[derive(Debug)]
pub(super) struct KeyRow {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) tenant: String,
    pub(super) models: Vec<ModelPattern>,
    pub(super) limits: KeyLimits,
    pub(super) is_admin: bool,
    pub(super) created_at: Timestamp,
    pub(super) expires_at: Option<Timestamp>,
    pub(super) revoked_at: Option<Timestamp>,
    pub(super) secrets: Vec<StoredSecret>,
}

impl KeyStore {
    /// Opens the file at a path that the caller chose, creating it when it is not there.
    pub fn open(path: &Path) -> Result<KeyStore, EvidenceError> {
        Ok(KeyStore(connect(path)?))
    }

    /// The same for those who only read it, also where nothing can be written.
    pub fn open_to_read(path: &Path) -> Result<KeyStore, EvidenceError> {
        Ok(KeyStore(connect_to_read(path)?))
    }

    /// Makes a key. No two keys that are in use have the same name.
    pub fn issue(&mut self, new: &NewKey, ids: &dyn Ids, now: Timestamp) -> Result<IssuedKey, KeyStoreError> {
        let is_letter = |letter: char| letter.is_alphanumeric() || " ._-".contains(letter);
        if !(1..=80).contains(&new.name.chars().count()) || !new.name.chars().all(is_letter) {
            return Err(KeyStoreError::BadName(new.name.clone()));
        }
        let transaction = self.transaction()?;
        if find(&transaction, &new.name)?.is_some_and(|(_, revoked)| !revoked) {
            return Err(KeyStoreError::NameTaken(new.name.clone()));
        }
        let id = text::fresh_id(ids);
        let models: Vec<&str> = new.models.iter().map(ModelPattern::as_str).collect();
        execute(
            &transaction,
            "INSERT INTO virtual_key (id, name, tenant, models, requests_per_minute, tokens_per_minute,
                day_budget, month_budget, is_admin, created_at, expires_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            params![
                id,
                new.name,
                new.tenant,
                models.join(","),
                new.limits.requests_per_minute.map(signed),
                new.limits.tokens_per_minute.map(signed),
                new.limits.day_budget.map(nanodollars),
                new.limits.month_budget.map(nanodollars),
                new.is_admin,
                now.as_microsecond(),
                new.expires_at.map(Timestamp::as_microsecond),
            ],
        )?;
        let text = add_secret(&transaction, &id, ids, now)?;
        transaction.commit().map_err(EvidenceError::from)?;
        Ok(IssuedKey { id, name: new.name.clone(), text })
    }

    /// Every key that was ever issued, in the order in which that happened.
    pub fn list(&self, now: Timestamp) -> Result<Vec<ListedKey>, EvidenceError> {
        let calendar = Calendar::of(now);
        let mut spent = read_spent(&self.0, calendar)?;
        let mut held = read_held(&self.0, calendar, &HashSet::new())?;
        let listed = read_keys(&self.0)?.into_iter().map(|row| {
            let mut days = spent.remove(&row.id).unwrap_or_default();
            for (day, money) in held.remove(&row.id).unwrap_or_default() {
                *days.entry(day).or_default() += money;
            }
            ListedKey {
                spent_today: from_nanodollars(days.get(&calendar.day).copied().unwrap_or(0)),
                spent_this_month: from_nanodollars(days.values().sum()),
                secrets: row.secrets.iter().filter(|one| one.ends_at.is_none_or(|end| now < end)).count(),
                id: row.id,
                name: row.name,
                tenant: row.tenant,
                models: row.models,
                limits: row.limits,
                is_admin: row.is_admin,
                created_at: row.created_at,
                expires_at: row.expires_at,
                revoked_at: row.revoked_at,
            }
        });
        Ok(listed.collect())
    }

    /// Ends a key for good, named by its id or its name. Gives its id.
    pub fn revoke(&mut self, key: &str, now: Timestamp) -> Result<String, KeyStoreError> {
        let transaction = self.transaction()?;
        let id = live(&transaction, key)?;
        execute(
            &transaction,
            "UPDATE virtual_key SET revoked_at = ?2 WHERE id = ?1",
            params![id, now.as_microsecond()],
        )?;
        transaction.commit().map_err(EvidenceError::from)?;
        Ok(id)
    }

    /// Gives a key a new text. The one before stays good until `old_ends_at`; its limits and what it spent stay.
    pub fn rotate(
        &mut self,
        key: &str,
        old_ends_at: Timestamp,
        ids: &dyn Ids,
        now: Timestamp,
    ) -> Result<IssuedKey, KeyStoreError> {
        let transaction = self.transaction()?;
        let id = live(&transaction, key)?;
        execute(
            &transaction,
            "UPDATE key_secret SET ends_at = ?2 WHERE key = ?1 AND (ends_at IS NULL OR ends_at > ?2)",
            params![id, old_ends_at.as_microsecond()],
        )?;
        execute(
            &transaction,
            "DELETE FROM key_secret WHERE key = ?1 AND ends_at <= ?2",
            params![id, now.as_microsecond()],
        )?;
        let text = add_secret(&transaction, &id, ids, now)?;
        let name = transaction
            .query_row("SELECT name FROM virtual_key WHERE id = ?1", [&id], |row| row.get(0))
            .map_err(EvidenceError::from)?;
        transaction.commit().map_err(EvidenceError::from)?;
        Ok(IssuedKey { id, name, text })
    }

    fn transaction(&mut self) -> Result<rusqlite::Transaction<'_>, EvidenceError> {
        Ok(self.0.transaction_with_behavior(TransactionBehavior::Immediate)?)
    }
}

/// A key by its id or its name, and whether it is revoked. Of several with one name it is the one in use.
fn find(connection: &Connection, key: &str) -> Result<Option<(String, bool)>, EvidenceError> {
    let found = connection.query_row(
        "SELECT id, revoked_at IS NOT NULL FROM virtual_key WHERE id = ?1 OR name = ?1
         ORDER BY id = ?1 DESC, revoked_at IS NOT NULL, created_at DESC LIMIT 1",
        [key],
        |row| Ok((row.get(0)?, row.get(1)?)),
    );
    Ok(found.optional()?)
}

fn live(connection: &Connection, key: &str) -> Result<String, KeyStoreError> {
    match find(connection, key)? {
        Some((id, false)) => Ok(id),
        Some((_, true)) => Err(KeyStoreError::Revoked(key.to_owned())),
        None => Err(KeyStoreError::Unknown(key.to_owned())),
    }
}

fn add_secret(
    connection: &Connection,
    id: &str,
    ids: &dyn Ids,
    now: Timestamp,
) -> Result<Secret, EvidenceError> {
    let text = text::fresh_text(id, ids);
    let hash = KeyText::read(text.expose()).map(|text| text.hash());
    let hash = hash.ok_or_else(|| EvidenceError::Damaged("the id of a key".to_owned()))?;
    execute(
        connection,
        "INSERT INTO key_secret (key, hash, created_at) VALUES (?1, ?2, ?3)",
        params![id, hash, now.as_microsecond()],
    )?;
    Ok(text)
}

fn execute(
    connection: &Connection,
    statement: &str,
    values: &[&dyn rusqlite::ToSql],
) -> Result<(), EvidenceError> {
    connection.execute(statement, values)?;
    Ok(())
}

/// All keys, oldest first.
pub(super) fn read_keys(connection: &Connection) -> Result<Vec<KeyRow>, EvidenceError> {
    let mut secrets: HashMap<String, Vec<StoredSecret>> = HashMap::new();
    let mut statement = connection.prepare_cached("SELECT key, hash, ends_at FROM key_secret")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let secret = StoredSecret { hash: row.get(1)?, ends_at: time(row.get(2)?)? };
        secrets.entry(row.get(0)?).or_default().push(secret);
    }
    let mut statement = connection.prepare_cached(
        "SELECT id, name, tenant, models, requests_per_minute, tokens_per_minute, day_budget, month_budget,
                is_admin, created_at, expires_at, revoked_at
         FROM virtual_key ORDER BY created_at, id",
    )?;
    let mut rows = statement.query([])?;
    let mut keys = Vec::new();
    while let Some(row) = rows.next()? {
        let mut key = key_row(row)?;
        key.secrets = secrets.remove(&key.id).unwrap_or_default();
        keys.push(key);
    }
    Ok(keys)
}

fn key_row(row: &Row<'_>) -> Result<KeyRow, EvidenceError> {
    let models: String = row.get(3)?;
    let models = models.split(',').filter(|model| !model.is_empty()).map(ModelPattern::new);
    let models: Result<Vec<ModelPattern>, _> = models.collect();
    let rate = |index| row.get::<_, Option<i64>>(index).map(|rate| rate.map(i64::unsigned_abs));
    Ok(KeyRow {
        id: row.get(0)?,
        name: row.get(1)?,
        tenant: row.get(2)?,
        models: models.map_err(|error| EvidenceError::Damaged(error.to_string()))?,
        limits: KeyLimits {
            requests_per_minute: rate(4)?,
            tokens_per_minute: rate(5)?,
            day_budget: row.get::<_, Option<i64>>(6)?.map(from_nanodollars),
            month_budget: row.get::<_, Option<i64>>(7)?.map(from_nanodollars),
        },
        is_admin: row.get(8)?,
        created_at: time(row.get(9)?)?.unwrap_or_default(),
        expires_at: time(row.get(10)?)?,
        revoked_at: time(row.get(11)?)?,
        secrets: Vec::new(),
    })
}

/// What every key spent in the month, by day.
pub(super) fn read_spent(
    connection: &Connection,
    calendar: Calendar,
) -> Result<HashMap<String, BTreeMap<i32, i64>>, EvidenceError> {
    let mut statement =
        connection.prepare_cached("SELECT key, day, money FROM key_spend WHERE day >= ?1 AND day < ?2")?;
    let mut rows = statement.query([calendar.month_starts, calendar.next_month])?;
    let mut spent: HashMap<String, BTreeMap<i32, i64>> = HashMap::new();
    while let Some(row) = rows.next()? {
        spent.entry(row.get(0)?).or_default().insert(row.get(1)?, row.get(2)?);
    }
    Ok(spent)
}

/// What requests under way have set aside, those of `own` excepted.
pub(super) fn read_held(
    connection: &Connection,
    calendar: Calendar,
    own: &HashSet<i64>,
) -> Result<HashMap<String, BTreeMap<i32, i64>>, EvidenceError> {
    let mut statement = connection
        .prepare_cached("SELECT number, key, day, money FROM key_hold WHERE day >= ?1 AND day < ?2")?;
    let mut rows = statement.query([calendar.month_starts, calendar.next_month])?;
    let mut held: HashMap<String, BTreeMap<i32, i64>> = HashMap::new();
    while let Some(row) = rows.next()? {
        let number: i64 = row.get(0)?;
        if !own.contains(&number) {
            let day: &mut i64 = held.entry(row.get(1)?).or_default().entry(row.get(2)?).or_default();
            *day = day.saturating_add(row.get(3)?);
        }
    }
    Ok(held)
}

fn time(microseconds: Option<i64>) -> Result<Option<Timestamp>, EvidenceError> {
    let time = microseconds.map(Timestamp::from_microsecond).transpose();
    time.map_err(|error| EvidenceError::Damaged(error.to_string()))
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

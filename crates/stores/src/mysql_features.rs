//! An online feature store in a MySQL-compatible database.
//!
//! A feature group is a table: `customers`, or `customers_3` for version 3. Its key is the table's primary
//! key without the column of the time. A table whose primary key holds the time keeps history; one without
//! keeps the newest row, which is then not seen by a read that asks for an earlier time.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Params, TxOpts};
use stave_canon::{Object, Value};
use stave_runtime::features::{
    FeatureBatch, FeatureError, FeatureGroup, FeatureQuery, FeatureRow, FeatureStore, ModelQuery,
};

use crate::Mysql;
use crate::mysql::words;
use crate::mysql_table::{Column, Table};

/// Features in tables. Models are asked of another store, since a database of features has none.
#[derive(Debug)]
pub struct MysqlFeatures {
    mysql: Mysql,
    groups: HashMap<String, FeatureGroup>,
    models: Arc<dyn FeatureStore>,
}

impl MysqlFeatures {
    #[must_use]
    pub fn new(mysql: Mysql, groups: HashMap<String, FeatureGroup>, models: Arc<dyn FeatureStore>) -> Self {
        MysqlFeatures { mysql, groups, models }
    }

    async fn connection(&self) -> Result<Conn, FeatureError> {
        self.mysql.connection().await.map_err(FeatureError::Store)
    }

    async fn table(
        &self,
        connection: &mut Conn,
        name: &str,
        version: Option<i64>,
    ) -> Result<Table, FeatureError> {
        let time = self.groups.get(name).and_then(|group| group.event_time.as_deref());
        let table = Table::find(connection, name, version, time).await.map_err(|error| failed(&error))?;
        table.ok_or_else(|| FeatureError::UnknownName(name.to_owned()))
    }
}

#[async_trait]
impl FeatureStore for MysqlFeatures {
    async fn read(&self, query: &FeatureQuery) -> Result<Object, FeatureError> {
        let mut connection = self.connection().await?;
        let table = self.table(&mut connection, &query.name, query.version).await?;
        let (condition, mut parameters) = key_condition(&table, query)?;
        let mut statement = format!("SELECT * FROM {} WHERE {condition}", table.quoted());
        if let Some(time) = table.time() {
            statement.push_str(&format!(" AND {0} <= ? ORDER BY {0} DESC", time.quoted()));
            parameters.push(time.time_value(query.as_of));
        }
        statement.push_str(" LIMIT 1");
        let row: Option<mysql_async::Row> = connection
            .exec_first(statement, Params::Positional(parameters))
            .await
            .map_err(|error| failed(&error))?;
        let row = row.ok_or_else(|| query.no_row())?;
        query.select(table.read_row(row).map_err(FeatureError::Store)?)
    }

    async fn write(&self, batch: FeatureBatch) -> Result<usize, FeatureError> {
        let mut connection = self.connection().await?;
        let table = self.table(&mut connection, &batch.name, batch.version).await?;
        let group = FeatureGroup {
            key: table.key().map(|column| column.name.clone()).collect(),
            event_time: table.time().map(|column| column.name.clone()),
        };
        let bad = |index: usize, reason: String| FeatureError::BadRow {
            name: batch.name.clone(),
            number: index + 1,
            reason,
        };
        let mut statements = Vec::with_capacity(batch.rows.len());
        for (index, row) in batch.rows.into_iter().enumerate() {
            let row = group.row(row, Some(batch.event_time)).map_err(|reason| bad(index, reason))?;
            statements.push(upsert(&table, &row).map_err(|reason| bad(index, reason))?);
        }
        let mut transaction =
            connection.start_transaction(TxOpts::default()).await.map_err(|error| failed(&error))?;
        let written = statements.len();
        for (statement, parameters) in statements {
            // An error drops the transaction, which undoes what it did.
            transaction
                .exec_drop(statement, Params::Positional(parameters))
                .await
                .map_err(|error| failed(&error))?;
        }
        transaction.commit().await.map_err(|error| failed(&error))?;
        Ok(written)
    }

    async fn model(&self, query: &ModelQuery) -> Result<Object, FeatureError> {
        self.models.model(query).await
    }
}

/// The columns of the key, each compared with its value.
fn key_condition(
    table: &Table,
    query: &FeatureQuery,
) -> Result<(String, Vec<mysql_async::Value>), FeatureError> {
    let columns: Vec<&Column> = table.key().collect();
    let wrong = || {
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        FeatureError::Store(format!("the key of `{}` has the columns {}", query.name, names.join(", ")))
    };
    let values: Vec<&Value> = match &query.key {
        Value::Object(key) => {
            if key.len() != columns.len() {
                return Err(wrong());
            }
            columns.iter().map(|column| key.get(&column.name)).collect::<Option<_>>().ok_or_else(wrong)?
        }
        scalar if columns.len() == 1 => vec![scalar],
        _ => return Err(wrong()),
    };
    if columns.is_empty() {
        return Err(FeatureError::Store(format!("the table of `{}` has no primary key", query.name)));
    }
    let conditions: Vec<String> = columns.iter().map(|column| format!("{} = ?", column.quoted())).collect();
    let values = columns.iter().zip(values).map(|(column, value)| column.value(value));
    let values = values.collect::<Result<_, _>>().map_err(FeatureError::Store)?;
    Ok((conditions.join(" AND "), values))
}

/// A row that takes the place of the one with the same key and time, and never that of a later one.
fn upsert(table: &Table, row: &FeatureRow) -> Result<(String, Vec<mysql_async::Value>), String> {
    let mut columns = Vec::new();
    let mut values = Vec::new();
    for (name, value) in &row.features {
        let column = table.column(name).ok_or_else(|| format!("the table has no column `{name}`"))?;
        values.push(column.value(value)?);
        columns.push(column);
    }
    if let Some(time) = table.time() {
        values.push(time.time_value(row.event_time));
        columns.push(time);
    }
    let guard = table.time().filter(|time| !time.is_key);
    // Assignments are made in order, so the time that the others are guarded by comes last.
    let assignments: Vec<String> = columns
        .iter()
        .filter(|column| !column.is_key)
        .map(|column| {
            let name = column.quoted();
            match guard.map(Column::quoted) {
                Some(time) => format!("{name} = IF(VALUES({time}) >= {time}, VALUES({name}), {name})"),
                None => format!("{name} = VALUES({name})"),
            }
        })
        .collect();
    let names: Vec<String> = columns.iter().map(|column| column.quoted()).collect();
    let holes = vec!["?"; columns.len()].join(", ");
    let (table, names) = (table.quoted(), names.join(", "));
    let statement = if assignments.is_empty() {
        format!("INSERT IGNORE INTO {table} ({names}) VALUES ({holes})")
    } else {
        let assignments = assignments.join(", ");
        format!("INSERT INTO {table} ({names}) VALUES ({holes}) ON DUPLICATE KEY UPDATE {assignments}")
    };
    Ok((statement, values))
}

fn failed(error: &mysql_async::Error) -> FeatureError {
    FeatureError::Store(words(error))
}

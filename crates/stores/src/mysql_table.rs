//! A table of features: which columns it has, and how their values read and write.

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error, Row};
use stave_canon::{Object, Timestamp, Value};

/// A table with its columns, in the table's order.
#[derive(Debug)]
pub(crate) struct Table {
    name: String,
    columns: Vec<Column>,
    /// The place of the column of the time.
    time: Option<usize>,
}

#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) is_key: bool,
    kind: Kind,
}

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Boolean,
    Number,
    Time,
    Json,
    Text,
}

/// The name of the column of the time when nothing else is said.
const EVENT_TIME: &str = "event_time";

impl Table {
    /// The table of a group: with the version in its name, or without. When no version is asked for, the
    /// highest there is.
    pub(crate) async fn find(
        connection: &mut Conn,
        group: &str,
        version: Option<i64>,
        time: Option<&str>,
    ) -> Result<Option<Table>, Error> {
        let names: Vec<String> = connection
            .exec(
                "SELECT table_name FROM information_schema.tables
                 WHERE table_schema = DATABASE() AND BINARY LEFT(table_name, CHAR_LENGTH(?)) = BINARY ?",
                (group, group),
            )
            .await?;
        let Some(name) = choose(names, group, version) else { return Ok(None) };
        let rows: Vec<(String, String, String, String)> = connection
            .exec(
                "SELECT column_name, column_key, data_type, column_type FROM information_schema.columns
                 WHERE table_schema = DATABASE() AND table_name = ? ORDER BY ordinal_position",
                (&name,),
            )
            .await?;
        // MariaDB keeps JSON as text under a check, which only the statement that makes the table shows.
        let statement = format!("SHOW CREATE TABLE {}", quote(&name));
        let shown: Option<(String, String)> = connection.query_first(statement).await?;
        let shown = shown.map(|(_, text)| text).unwrap_or_default();
        let columns: Vec<Column> = rows
            .into_iter()
            .map(|(name, key, kind, whole)| {
                let is_json = shown.contains(&format!("json_valid({})", quote(&name)));
                let kind = Kind::of(&kind.to_ascii_lowercase(), &whole.to_ascii_lowercase());
                Column { name, is_key: key == "PRI", kind: if is_json { Kind::Json } else { kind } }
            })
            .collect();
        let time = columns.iter().position(|column| column.name == time.unwrap_or(EVENT_TIME));
        Ok(Some(Table { name, columns, time }))
    }

    pub(crate) fn quoted(&self) -> String {
        quote(&self.name)
    }

    pub(crate) fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    pub(crate) fn time(&self) -> Option<&Column> {
        self.time.and_then(|place| self.columns.get(place))
    }

    /// The columns that distinguish one key from another.
    pub(crate) fn key(&self) -> impl Iterator<Item = &Column> {
        let columns = self.columns.iter().enumerate();
        columns.filter(|(place, column)| column.is_key && Some(*place) != self.time).map(|(_, column)| column)
    }

    /// A row without its time, which says when the features were known and is not one of them.
    pub(crate) fn read_row(&self, row: Row) -> Result<Object, String> {
        let mut features = Object::new();
        for (place, (column, value)) in self.columns.iter().zip(row.unwrap()).enumerate() {
            if Some(place) != self.time {
                features.insert(column.name.clone(), column.read(value)?);
            }
        }
        Ok(features)
    }
}

fn choose(names: Vec<String>, group: &str, version: Option<i64>) -> Option<String> {
    let version_of = |name: &str| {
        let rest = name.strip_prefix(group)?.strip_prefix('_')?;
        rest.strip_prefix('v').unwrap_or(rest).parse::<i64>().ok()
    };
    match version {
        Some(version) => {
            let exact = names.iter().position(|name| version_of(name) == Some(version));
            let plain = || names.iter().position(|name| name == group);
            exact.or_else(plain).and_then(|place| names.into_iter().nth(place))
        }
        None => {
            let plain = names.iter().position(|name| name == group);
            let highest = || {
                let versions = names
                    .iter()
                    .enumerate()
                    .filter_map(|(place, name)| version_of(name).map(|version| (version, place)));
                versions.max().map(|(_, place)| place)
            };
            plain.or_else(highest).and_then(|place| names.into_iter().nth(place))
        }
    }
}

impl Column {
    pub(crate) fn quoted(&self) -> String {
        quote(&self.name)
    }

    /// A time as the column holds it: text of a date, or milliseconds since 1970.
    pub(crate) fn time_value(&self, time: Timestamp) -> mysql_async::Value {
        if self.kind == Kind::Number {
            return time.as_millisecond().into();
        }
        time.strftime("%Y-%m-%d %H:%M:%S.%6f").to_string().into()
    }

    /// A value as the column holds it.
    pub(crate) fn value(&self, value: &Value) -> Result<mysql_async::Value, String> {
        Ok(match value {
            Value::Null => mysql_async::Value::NULL,
            Value::Bool(truth) => i64::from(*truth).into(),
            Value::Number(_) => value.to_string().into(),
            Value::String(text) if self.kind == Kind::Time => match text.parse::<Timestamp>() {
                Ok(time) => self.time_value(time),
                Err(_) => text.as_str().into(),
            },
            Value::String(text) if self.kind == Kind::Json => Value::from(text.as_str()).to_string().into(),
            Value::String(text) => text.as_str().into(),
            Value::Array(_) | Value::Object(_) if self.kind == Kind::Json || self.kind == Kind::Text => {
                value.to_string().into()
            }
            Value::Array(_) | Value::Object(_) => {
                return Err(format!("the column `{}` cannot hold {}", self.name, value.kind()));
            }
        })
    }

    fn read(&self, value: mysql_async::Value) -> Result<Value, String> {
        use mysql_async::Value as Cell;
        Ok(match value {
            Cell::NULL => Value::Null,
            Cell::Int(number) if self.kind == Kind::Boolean => (number != 0).into(),
            Cell::Int(number) => number.into(),
            Cell::UInt(number) => number.into(),
            // The shortest digits of the column's own precision: 0.1 and not 0.10000000149.
            Cell::Float(number) => parsed(&number.to_string(), &self.name)?,
            Cell::Double(number) => Value::from(number),
            Cell::Bytes(bytes) => {
                let text = String::from_utf8(bytes)
                    .map_err(|_| format!("the column `{}` holds bytes that are not text", self.name))?;
                match self.kind {
                    Kind::Number | Kind::Json => parsed(&text, &self.name)?,
                    Kind::Boolean | Kind::Time | Kind::Text => text.into(),
                }
            }
            Cell::Date(year, month, day, hour, minute, second, micros) => {
                let mut text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
                if micros > 0 {
                    text.push_str(format!(".{micros:06}").trim_end_matches('0'));
                }
                text.push('Z');
                text.into()
            }
            Cell::Time(negative, days, hours, minutes, seconds, _) => {
                let hours = u64::from(days) * 24 + u64::from(hours);
                let sign = if negative { "-" } else { "" };
                format!("{sign}{hours:02}:{minutes:02}:{seconds:02}").into()
            }
        })
    }
}

fn parsed(text: &str, column: &str) -> Result<Value, String> {
    stave_canon::parse(text).map_err(|error| format!("the column `{column}`: {error}"))
}

impl Kind {
    fn of(data_type: &str, column_type: &str) -> Kind {
        match data_type {
            "tinyint" if column_type.starts_with("tinyint(1)") => Kind::Boolean,
            "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "decimal" | "float" | "double" => {
                Kind::Number
            }
            "datetime" | "timestamp" => Kind::Time,
            "json" => Kind::Json,
            _ => Kind::Text,
        }
    }
}

fn quote(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_finds_the_table_of_its_version() {
        let names = || ["c", "c_1", "c_12", "c_v3", "c_old", "customers"].map(str::to_owned).to_vec();
        let chosen = |version| choose(names(), "c", version);
        assert_eq!(chosen(Some(3)).as_deref(), Some("c_v3"));
        assert_eq!(chosen(Some(12)).as_deref(), Some("c_12"));
        assert_eq!(chosen(Some(9)).as_deref(), Some("c"));
        assert_eq!(chosen(None).as_deref(), Some("c"));
        let versions = || ["c_1", "c_12", "c_2"].map(str::to_owned).to_vec();
        assert_eq!(choose(versions(), "c", None).as_deref(), Some("c_12"));
        assert_eq!(choose(versions(), "c", Some(3)), None);
    }

    #[test]
    fn a_name_can_not_leave_its_quotes() {
        assert_eq!(quote("a`; DROP TABLE b"), "`a``; DROP TABLE b`");
    }
}

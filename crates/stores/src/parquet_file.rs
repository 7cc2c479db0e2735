//! Tables in Parquet files, row by row.

use parquet::file::reader::{ChunkReader, SerializedFileReader};
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};
use stave_canon::{Object, Timestamp, Value};

use crate::TableFault;

/// The rows of a Parquet file.
pub fn parquet_rows(
    input: impl ChunkReader + 'static,
) -> Result<impl Iterator<Item = Result<Object, TableFault>> + 'static, TableFault> {
    let fault = |error: parquet::errors::ParquetError, row| TableFault { row, reason: error.to_string() };
    let reader = SerializedFileReader::new(input).map_err(|error| fault(error, None))?;
    Ok(RowIter::from_file_into(Box::new(reader)).enumerate().map(move |(index, row)| {
        let row = row.map_err(|error| fault(error, Some(index + 1)))?;
        object(&row).map_err(|reason| TableFault { row: Some(index + 1), reason })
    }))
}

fn object(row: &Row) -> Result<Object, String> {
    row.get_column_iter()
        .map(|(name, field)| {
            let value = value(field).map_err(|reason| format!("column `{name}`: {reason}"))?;
            Ok((name.clone(), value))
        })
        .collect()
}

fn value(field: &Field) -> Result<Value, String> {
    let time = |time: Result<Timestamp, _>| {
        time.map(|time| Value::from(time.to_string())).map_err(|_| "the time is out of range".to_owned())
    };
    Ok(match field {
        Field::Null => Value::Null,
        Field::Bool(truth) => (*truth).into(),
        Field::Byte(number) => i64::from(*number).into(),
        Field::Short(number) => i64::from(*number).into(),
        Field::Int(number) => i64::from(*number).into(),
        Field::Long(number) => (*number).into(),
        Field::UByte(number) => u64::from(*number).into(),
        Field::UShort(number) => u64::from(*number).into(),
        Field::UInt(number) => u64::from(*number).into(),
        Field::ULong(number) => (*number).into(),
        // The shortest digits of the column's own precision, so that 0.1 stays 0.1.
        Field::Float16(number) => digits(&number.to_string())?,
        Field::Float(number) => digits(&number.to_string())?,
        Field::Double(number) => digits(&number.to_string())?,
        Field::Decimal(_) => digits(&field.to_string())?,
        Field::Str(text) => text.as_str().into(),
        Field::Bytes(bytes) => match bytes.as_utf8() {
            Ok(text) => text.into(),
            Err(_) => return Err("it holds bytes that are not text".to_owned()),
        },
        Field::Date(days) => time(Timestamp::from_second(i64::from(*days) * 86_400))?,
        Field::TimeMillis(millis) => i64::from(*millis).into(),
        Field::TimeMicros(micros) => (*micros).into(),
        Field::TimestampMillis(millis) => time(Timestamp::from_millisecond(*millis))?,
        Field::TimestampMicros(micros) => time(Timestamp::from_microsecond(*micros))?,
        Field::Group(row) => Value::Object(object(row)?),
        Field::ListInternal(list) => {
            Value::Array(list.elements().iter().map(value).collect::<Result<_, _>>()?)
        }
        Field::MapInternal(map) => {
            let entries = map.entries().iter().map(|(key, entry)| {
                let key = match value(key)? {
                    Value::String(text) => text,
                    other => other.to_string(),
                };
                Ok((key, value(entry)?))
            });
            Value::Object(entries.collect::<Result<_, String>>()?)
        }
    })
}

/// A number from its digits; what is no number is nothing known.
fn digits(text: &str) -> Result<Value, String> {
    match text {
        "NaN" | "inf" | "-inf" => Ok(Value::Null),
        text => stave_canon::parse(text).map_err(|error| format!("`{text}` is not a number: {error}")),
    }
}

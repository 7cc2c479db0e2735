//! Tables in files, row by row: CSV with a header, and Parquet.

use std::io::Read;

use parquet::file::reader::{ChunkReader, SerializedFileReader};
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};
use stave_canon::{Object, Timestamp, Value};

/// Why a table cannot be read, and at which row, counted from 1; none when the file itself is at fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableFault {
    pub row: Option<usize>,
    pub reason: String,
}

/// The rows of a CSV table. Empty cells are null; cells that are JSON numbers, `true` or `false` are that,
/// and all others are text, so `007` stays what it is.
pub fn csv_rows(input: impl Read) -> Result<impl Iterator<Item = Result<Object, TableFault>>, TableFault> {
    let fault = |error: &csv::Error, row| TableFault { row, reason: error.to_string() };
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::Headers).from_reader(input);
    let header = reader.headers().map_err(|error| fault(&error, None))?.clone();
    let mut seen = std::collections::HashSet::new();
    if let Some(twice) = header.iter().find(|name| !seen.insert(*name)) {
        return Err(TableFault { row: None, reason: format!("the header has `{twice}` twice") });
    }
    Ok(reader.into_records().enumerate().map(move |(index, record)| {
        let record = record.map_err(|error| fault(&error, Some(index + 1)))?;
        Ok(header.iter().map(str::to_owned).zip(record.iter().map(cell)).collect())
    }))
}

fn cell(text: &str) -> Value {
    match text {
        "" => Value::Null,
        "true" => true.into(),
        "false" => false.into(),
        text => match stave_canon::parse(text) {
            Ok(number @ Value::Number(_)) => number,
            _ => text.into(),
        },
    }
}

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
        text => stave_canon::parse(text).map_err(|error| format!("`{text}` is no number: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_what_they_say_and_codes_stay_text() {
        let text = "id,zip,age,gone,member,price\nc1,007,30,,true,12.5\n\"a,\"\"b\"\"\",1e3,-2,x,false,.5\n";
        let rows: Vec<Value> =
            csv_rows(text.as_bytes()).unwrap().map(|row| Value::Object(row.unwrap())).collect();
        let expected = r#"[{"id":"c1","zip":"007","age":30,"gone":null,"member":true,"price":12.5},{"id":"a,\"b\"","zip":1000.0,"age":-2,"gone":"x","member":false,"price":".5"}]"#;
        assert_eq!(Value::Array(rows), stave_canon::parse(expected).unwrap());
    }

    #[test]
    fn a_row_of_the_wrong_length_and_a_column_that_stands_twice_are_told() {
        let fault = csv_rows("a,b\n1,2\n3\n".as_bytes()).unwrap().last().unwrap().unwrap_err();
        assert_eq!(fault.row, Some(2));
        let Err(fault) = csv_rows("a,b,a\n1,2,3\n".as_bytes()) else { panic!("it was read") };
        assert_eq!(fault, TableFault { row: None, reason: "the header has `a` twice".to_owned() });
    }
}

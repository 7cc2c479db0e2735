//! Tables in files, row by row: CSV with a header.

use std::io::Read;

use stave_canon::{Object, Value};

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

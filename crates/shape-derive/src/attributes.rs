//! The attributes of types, fields and variants.

use quote::ToTokens;
use syn::meta::ParseNestedMeta;
use syn::{Attribute, Expr, ExprLit, Lit, LitStr, Meta, Path};

/// What is said about a type.
#[derive(Default)]
pub(crate) struct Container {
    pub(crate) name: Option<String>,
    pub(crate) open: bool,
    pub(crate) not_null: bool,
    pub(crate) check: Option<Path>,
    pub(crate) tag: Option<String>,
    /// What is read for its faults when the tag cannot be read.
    pub(crate) otherwise: Option<Path>,
    /// Keys with one value.
    pub(crate) marks: Vec<(String, Expr)>,
    pub(crate) words: bool,
}

impl Container {
    pub(crate) fn read(attributes: &[Attribute]) -> syn::Result<Self> {
        let mut container = Container::default();
        each(attributes, |meta| {
            if meta.path.is_ident("name") {
                container.name = Some(text(&meta)?);
            } else if meta.path.is_ident("tag") {
                container.tag = Some(text(&meta)?);
            } else if meta.path.is_ident("otherwise") {
                container.otherwise = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("mark") {
                meta.parse_nested_meta(|mark| {
                    let key = mark.path.get_ident().map(ToString::to_string);
                    let key = key.ok_or_else(|| mark.error("a mark has a key"))?;
                    container.marks.push((key, mark.value()?.parse()?));
                    Ok(())
                })?;
            } else if meta.path.is_ident("check") {
                container.check = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("open") {
                container.open = true;
            } else if meta.path.is_ident("not_null") {
                container.not_null = true;
            } else if meta.path.is_ident("words") {
                container.words = true;
            } else {
                return Err(meta.error("no attribute of a shape"));
            }
            Ok(())
        })?;
        Ok(container)
    }
}

/// What is said about a field.
#[derive(Default)]
pub(crate) struct FieldAttributes {
    pub(crate) rename: Option<String>,
    /// `Some(None)` is the type's own default.
    pub(crate) default: Option<Option<Expr>>,
    /// The same for a value that the caller replaces.
    pub(crate) placeholder: Option<Option<Expr>>,
    pub(crate) omit_default: bool,
    /// What holds when an optional key is absent, for schemas.
    pub(crate) unset: Option<Expr>,
    pub(crate) not_null: bool,
    pub(crate) null_is_absent: bool,
    pub(crate) write_null: bool,
    pub(crate) stand_in: bool,
    pub(crate) rest: bool,
    pub(crate) rest_if_open: bool,
    pub(crate) skip: bool,
    pub(crate) with: Option<Path>,
    pub(crate) min: Option<Expr>,
    pub(crate) max: Option<Expr>,
    pub(crate) filled: bool,
    pub(crate) not_empty: bool,
    pub(crate) not_blank: bool,
    pub(crate) max_length: Option<Expr>,
    pub(crate) pattern: Option<Expr>,
}

impl FieldAttributes {
    pub(crate) fn read(attributes: &[Attribute]) -> syn::Result<Self> {
        let mut field = FieldAttributes::default();
        each(attributes, |meta| field.add(&meta))?;
        let has_default = field.default.is_some() || field.placeholder.is_some();
        match attributes.first().filter(|_| field.omit_default && !has_default) {
            // What is not written must be readable when it is absent.
            Some(first) => Err(syn::Error::new_spanned(first, "`omit_default` needs `default`")),
            None => Ok(field),
        }
    }

    fn add(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
        let expression = || meta.value()?.parse::<Expr>();
        match name.as_str() {
            "rename" => self.rename = Some(text(meta)?),
            "default" | "placeholder" => {
                let written = meta.input.peek(syn::Token![=]);
                let value = Some(if written { Some(expression()?) } else { None });
                *(if name == "default" { &mut self.default } else { &mut self.placeholder }) = value;
            }
            "omit_default" => self.omit_default = true,
            "unset" => self.unset = Some(expression()?),
            "with" => self.with = Some(meta.value()?.parse()?),
            "min" => self.min = Some(expression()?),
            "max" => self.max = Some(expression()?),
            "max_length" => self.max_length = Some(expression()?),
            "pattern" => self.pattern = Some(expression()?),
            "not_null" => self.not_null = true,
            "null_is_absent" => self.null_is_absent = true,
            "write_null" => self.write_null = true,
            "stand_in" => self.stand_in = true,
            "rest" => self.rest = true,
            "rest_if_open" => self.rest_if_open = true,
            "skip" => self.skip = true,
            "filled" => self.filled = true,
            "not_empty" => self.not_empty = true,
            "not_blank" => self.not_blank = true,
            _ => return Err(meta.error("no attribute of a field of a shape")),
        }
        Ok(())
    }
}

/// The name of a variant in documents.
pub(crate) fn variant_name(ident: &syn::Ident, attributes: &[Attribute]) -> syn::Result<String> {
    let mut names = variant_names(ident, attributes)?;
    if names.len() > 1 {
        return Err(syn::Error::new_spanned(ident, "only a variant that holds a type has several words"));
    }
    Ok(names.remove(0))
}

/// The words that select a variant, at least one.
pub(crate) fn variant_names(ident: &syn::Ident, attributes: &[Attribute]) -> syn::Result<Vec<String>> {
    let mut names = vec![snake_case(&ident.to_string())];
    each(attributes, |meta| {
        if meta.path.is_ident("rename") {
            names[0] = text(&meta)?;
        } else if meta.path.is_ident("or") {
            names.push(text(&meta)?);
        } else {
            return Err(meta.error("no attribute of a variant of a shape"));
        }
        Ok(())
    })?;
    Ok(names)
}

fn each(
    attributes: &[Attribute],
    mut read: impl FnMut(ParseNestedMeta<'_>) -> syn::Result<()>,
) -> syn::Result<()> {
    attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("shape"))
        .try_for_each(|attribute| attribute.parse_nested_meta(&mut read))
}

fn text(meta: &ParseNestedMeta<'_>) -> syn::Result<String> {
    Ok(meta.value()?.parse::<LitStr>()?.value())
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

/// The doc comment as one paragraph.
pub(crate) fn description(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(doc) if doc.path.is_ident("doc") => match &doc.value {
            Expr::Lit(ExprLit { lit: Lit::Str(line), .. }) => Some(line.value().trim().to_owned()),
            other => Some(other.to_token_stream().to_string()),
        },
        _ => None,
    });
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

//! `#[derive(Shape)]`.
//!
//! On a type: `name = "…"` in schemas; `open`, unknown keys are ignored instead of reported; `not_null`, where no field
//! may be null; `check = path`, a function of the value if it could be read, its node, its
//! place and the reader; `mark(key = expression, …)`, keys that come first and hold one value; `tag = "…"`, the key that
//! distinguishes the variants of an enum; `otherwise = type`, which is read for its faults when the tag cannot be read;
//! `words`, which also gives an enum `ALL`, `WORDS`, `word`, `from_word` and `Display`.
//!
//! On a field: `rename = "…"`; `default` or `default = expression`, when the key is absent; `omit_default`, which does
//! not write it; `placeholder` in the same two forms, for a value that the caller replaces; `unset = expression`,
//! what an absent optional key amounts to, for schemas; `not_null`; `null_is_absent`;
//! `write_null`, which writes an absent value; `stand_in`, the type's default for a required field that cannot be read;
//! `rest`, the object of all other keys; `rest_if_open`, the same for a reader that is not closed; `skip`, no part of the
//! document; `with = module`, which has `read`, `write` and `schema` for a type without a shape; the limits `min`, `max`,
//! `filled`, `not_empty`, `not_blank`, `max_length` and `pattern = CONSTANT`.
//!
//! On a variant: `rename = "…"`; without it, its name in snake case. A variant of a tagged enum has fields, or holds a
//! type that has the tag among its own; `or = "…"` then adds a word. Doc comments become descriptions.

mod attributes;
mod body;
mod words;

use proc_macro::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Fields, parse_macro_input};

use crate::attributes::{Container, description};
use crate::body::Body;

#[proc_macro_derive(Shape, attributes(shape))]
pub fn derive_shape(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

fn expand(input: &DeriveInput) -> syn::Result<proc_macro2::TokenStream> {
    let container = Container::read(&input.attrs)?;
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => object(input, &container, &Body::new(&fields.named, &container)?),
            Fields::Unnamed(fields) => match fields.unnamed.first() {
                Some(field) if fields.unnamed.len() == 1 => Ok(wrapper(input, &field.ty)),
                _ => Err(syn::Error::new_spanned(input, "a shape has named fields, or wraps one other")),
            },
            Fields::Unit => Err(syn::Error::new_spanned(input, "a shape has fields")),
        },
        Data::Enum(data) if container.tag.is_some() => words::tagged(input, &container, data),
        Data::Enum(data) => words::plain(input, &container, data),
        Data::Union(_) => Err(syn::Error::new_spanned(input, "a union has no shape")),
    }
}

/// A type that is written as the one it holds.
fn wrapper(input: &DeriveInput, inner: &syn::Type) -> proc_macro2::TokenStream {
    let ident = &input.ident;
    quote! {
        #[automatically_derived]
        impl ::stave_shape::Shape for #ident {
            fn read<N: ::stave_shape::ValueNode>(
                node: N,
                at: &::stave_shape::Place<'_>,
                reader: &mut ::stave_shape::Reader,
            ) -> ::core::option::Option<Self> {
                <#inner as ::stave_shape::Shape>::read(node, at, reader).map(#ident)
            }

            fn write(&self) -> ::stave_shape::Value {
                ::stave_shape::Shape::write(&self.0)
            }

            fn schema(definitions: &mut ::stave_shape::Definitions) -> ::stave_shape::Value {
                <#inner as ::stave_shape::Shape>::schema(definitions)
            }
        }
    }
}

/// The shape of a struct.
fn object(input: &DeriveInput, container: &Container, body: &Body) -> syn::Result<proc_macro2::TokenStream> {
    let ident = &input.ident;
    let name = container.name.clone().unwrap_or_else(|| ident.to_string());
    let description = description(&input.attrs);
    let (read, write, schema) =
        (body.read(&quote!(#ident), None), body.write(), body.schema(&description, None));
    let (bindings, count) = (body.bindings(), body.count());
    let read = match &container.check {
        None => quote!(::core::option::Option::Some(#read)),
        Some(check) => quote! {
            // The rules of a type hold whether or not all of its fields could be read.
            fn fields<N: ::stave_shape::ValueNode>(
                node: N,
                at: &::stave_shape::Place<'_>,
                reader: &mut ::stave_shape::Reader,
            ) -> ::core::option::Option<#ident> {
                ::core::option::Option::Some(#read)
            }
            let shape = fields(node, at, reader);
            if ::stave_shape::ValueNode::kind(node) == ::stave_shape::ValueKind::Object {
                #check(shape.as_ref(), node, at, reader);
            }
            shape
        },
    };
    Ok(quote! {
        #[automatically_derived]
        impl ::stave_shape::Shape for #ident {
            fn read<N: ::stave_shape::ValueNode>(
                node: N,
                at: &::stave_shape::Place<'_>,
                reader: &mut ::stave_shape::Reader,
            ) -> ::core::option::Option<Self> {
                #read
            }

            fn write(&self) -> ::stave_shape::Value {
                let Self { #bindings } = self;
                let mut object = ::stave_shape::Object::with_capacity(#count);
                #write
                ::stave_shape::Value::Object(object)
            }

            fn schema(definitions: &mut ::stave_shape::Definitions) -> ::stave_shape::Value {
                definitions.named(#name, |definitions| #schema)
            }
        }
    })
}

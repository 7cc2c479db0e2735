//! Enums: plain words, and objects that a tag distinguishes.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DataEnum, DeriveInput, Fields};

use crate::attributes::{Container, description, variant_name, variant_names};
use crate::body::Body;

/// An enum of plain words.
pub(crate) fn plain(input: &DeriveInput, container: &Container, data: &DataEnum) -> syn::Result<TokenStream> {
    if let Some(variant) = data.variants.iter().find(|variant| !matches!(variant.fields, Fields::Unit)) {
        return Err(syn::Error::new_spanned(variant, "a variant with fields needs `tag` on its enum"));
    }
    let (ident, visibility) = (&input.ident, &input.vis);
    let name = container.name.clone().unwrap_or_else(|| ident.to_string());
    let description = description(&input.attrs);
    let words = data
        .variants
        .iter()
        .map(|variant| variant_name(&variant.ident, &variant.attrs))
        .collect::<syn::Result<Vec<String>>>()?;
    let variants: Vec<_> = data.variants.iter().map(|variant| &variant.ident).collect();
    let count = variants.len();
    let places: Vec<usize> = (0..count).collect();
    let inherent = container.words.then(|| {
        quote! {
            #[automatically_derived]
            #[allow(dead_code)]
            impl #ident {
                #visibility const ALL: [#ident; #count] = [#(#ident::#variants),*];

                /// The words of [`Self::ALL`].
                #visibility const WORDS: [&'static str; #count] = [#(#words),*];

                /// The word in documents.
                #[must_use]
                #visibility const fn word(self) -> &'static str {
                    match self {
                        #(#ident::#variants => #words,)*
                    }
                }

                #[must_use]
                #visibility fn from_word(word: &str) -> ::core::option::Option<Self> {
                    match word {
                        #(#words => ::core::option::Option::Some(#ident::#variants),)*
                        _ => ::core::option::Option::None,
                    }
                }
            }

            #[automatically_derived]
            impl ::core::fmt::Display for #ident {
                fn fmt(&self, out: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    out.write_str(self.word())
                }
            }
        }
    });
    Ok(quote! {
        #inherent

        #[automatically_derived]
        impl ::stave_shape::Shape for #ident {
            fn read<N: ::stave_shape::ValueNode>(
                node: N,
                at: &::stave_shape::Place<'_>,
                reader: &mut ::stave_shape::Reader,
            ) -> ::core::option::Option<Self> {
                const WORDS: &[&str] = &[#(#words),*];
                match reader.word(node, at, WORDS)? {
                    #(#places => ::core::option::Option::Some(#ident::#variants),)*
                    _ => ::core::option::Option::None,
                }
            }

            fn write(&self) -> ::stave_shape::Value {
                ::stave_shape::Value::from(match self {
                    #(#ident::#variants => #words,)*
                })
            }

            fn schema(definitions: &mut ::stave_shape::Definitions) -> ::stave_shape::Value {
                definitions.named(#name, |_| ::stave_shape::words_schema(#description, &[#(#words),*]))
            }
        }
    })
}

/// An enum of objects, told apart by the word at one key.
pub(crate) fn tagged(
    input: &DeriveInput,
    container: &Container,
    data: &DataEnum,
) -> syn::Result<TokenStream> {
    let ident = &input.ident;
    let tag = container.tag.clone().unwrap_or_default();
    let name = container.name.clone().unwrap_or_else(|| ident.to_string());
    let whole = description(&input.attrs);
    let (mut words, mut reads, mut writes, mut schemas) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for variant in &data.variants {
        let none = syn::punctuated::Punctuated::new();
        let variant_ident = &variant.ident;
        let place = words.len();
        let fields = match &variant.fields {
            Fields::Named(fields) => &fields.named,
            Fields::Unit => &none,
            // A type of its own, with the tag among its fields: it may represent several words.
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
                let inner = &fields.unnamed[0].ty;
                let own = variant_names(variant_ident, &variant.attrs)?;
                let places = place..place + own.len();
                reads.push(quote!(#(#places)|* => {
                    #ident::#variant_ident(<#inner as ::stave_shape::Shape>::read(node, at, reader)?)
                }));
                writes.push(quote!(#ident::#variant_ident(inner) => ::stave_shape::Shape::write(inner),));
                schemas.push(quote! {{
                    let schema = <#inner as ::stave_shape::Shape>::schema(definitions);
                    ::stave_shape::variant_schema(schema, #tag, &[#(#own),*])
                }});
                words.extend(own);
                continue;
            }
            Fields::Unnamed(_) => {
                return Err(syn::Error::new_spanned(
                    variant,
                    "a tagged variant has named fields, or holds one type",
                ));
            }
        };
        let body = Body::new(fields, container)?;
        let word = variant_name(variant_ident, &variant.attrs)?;
        let (bindings, write) = (body.bindings(), body.write());
        let read = body.read(&quote!(#ident::#variant_ident), Some(&tag));
        reads.push(quote!(#place => #read,));
        writes.push(quote!(#ident::#variant_ident { #bindings } => {
            let mut object = ::stave_shape::Object::new();
            object.insert(#tag.to_owned(), #word.into());
            #write
            ::stave_shape::Value::Object(object)
        }));
        schemas.push(body.schema(&description(&variant.attrs), Some((&tag, &word))));
        words.push(word);
    }
    if container.check.is_some() {
        return Err(syn::Error::new_spanned(ident, "an enum has no `check`"));
    }
    let otherwise = container
        .otherwise
        .as_ref()
        .map(|otherwise| quote!(<#otherwise as ::stave_shape::Shape>::read(node, at, reader);));
    Ok(quote! {
        #[automatically_derived]
        impl ::stave_shape::Shape for #ident {
            fn read<N: ::stave_shape::ValueNode>(
                node: N,
                at: &::stave_shape::Place<'_>,
                reader: &mut ::stave_shape::Reader,
            ) -> ::core::option::Option<Self> {
                const WORDS: &[&str] = &[#(#words),*];
                if ::stave_shape::ValueNode::kind(node) != ::stave_shape::ValueKind::Object {
                    reader.wrong_type(node, at, "an object");
                    return ::core::option::Option::None;
                }
                let tag = ::stave_shape::ValueNode::member(node, #tag);
                let read = |node, at: &::stave_shape::Place<'_>, reader: &mut ::stave_shape::Reader| {
                    reader.word(node, at, WORDS)
                };
                let word = reader.required(node, tag, #tag, at, &::stave_shape::FieldLimits::NONE, read);
                ::core::option::Option::Some(match word {
                    ::core::option::Option::Some(word) => match word {
                        #(#reads)*
                        _ => return ::core::option::Option::None,
                    },
                    ::core::option::Option::None => {
                        #otherwise
                        return ::core::option::Option::None;
                    }
                })
            }

            fn write(&self) -> ::stave_shape::Value {
                match self {
                    #(#writes)*
                }
            }

            fn schema(definitions: &mut ::stave_shape::Definitions) -> ::stave_shape::Value {
                definitions.named(#name, |definitions| {
                    let variants = vec![#(#schemas),*];
                    ::stave_shape::tagged_schema(#whole, variants)
                })
            }
        }
    })
}

//! The fields of a struct or of a variant.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::punctuated::Punctuated;
use syn::{Expr, Field, GenericArgument, Ident, Path, PathArguments, Token, Type};

use crate::attributes::{Container, FieldAttributes, description};

pub(crate) struct Body {
    /// Keys with one value, before all others.
    marks: Vec<(String, Expr)>,
    members: Vec<Member>,
    /// Fields that no key of the document is for.
    skipped: Vec<Ident>,
    rest: Option<(Ident, Rest)>,
    open: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Rest {
    Always,
    IfOpen,
}

struct Member {
    ident: Ident,
    key: String,
    /// The type that is read: what an `Option` holds.
    ty: Type,
    presence: Presence,
    null_is_absent: bool,
    write_null: bool,
    with: Option<Path>,
    limits: TokenStream,
    description: String,
}

enum Presence {
    Required {
        stand_in: bool,
    },
    /// With what holds when the key is absent, if that is one value.
    Optional {
        unset: Option<Expr>,
    },
    Default {
        value: Option<Expr>,
        /// The caller replaces it, so that it is no part of a schema.
        placeholder: bool,
        /// Not written when it is the default.
        omit: bool,
    },
}

impl Body {
    pub(crate) fn new(fields: &Punctuated<Field, Token![,]>, container: &Container) -> syn::Result<Self> {
        let mut body = Body {
            marks: container.marks.clone(),
            members: Vec::new(),
            skipped: Vec::new(),
            rest: None,
            open: container.open,
        };
        for field in fields {
            let Some(ident) = field.ident.clone() else { continue };
            let attributes = FieldAttributes::read(&field.attrs)?;
            if attributes.skip {
                body.skipped.push(ident);
            } else if attributes.rest || attributes.rest_if_open {
                body.rest = Some((ident, if attributes.rest { Rest::Always } else { Rest::IfOpen }));
            } else {
                body.members.push(Member::new(field, ident, &attributes, container));
            }
        }
        Ok(body)
    }

    /// An expression that reads the fields from `node` and makes a `constructor`; it returns `None` when it cannot.
    pub(crate) fn read(&self, constructor: &TokenStream, tag: Option<&str>) -> TokenStream {
        let count = self.count();
        let marked = self.marks.iter().map(|(key, _)| key.as_str());
        let own = marked.chain(self.members.iter().map(|member| member.key.as_str()));
        let keys: Vec<&str> = tag.into_iter().chain(own.clone()).collect();
        let arms = own
            .enumerate()
            .map(|(index, key)| quote!(#key => slots[#index] = ::core::option::Option::Some(member),));
        let marks = self.marks.iter().enumerate().map(|(index, (key, value))| {
            quote!(reader.mark(node, slots[#index], #key, at, &::stave_shape::Value::from(#value));)
        });
        let tag_arm = tag.map(|tag| quote!(#tag => {}));
        let keep = quote!(drop(rest.insert(other.to_owned(), ::stave_shape::ValueNode::to_value(member))));
        let report = quote!(reader.unknown_key(at, other, key.span, KEYS));
        let unknown = match &self.rest {
            None if self.open => quote!(_ => {}),
            None => quote!(other => #report,),
            Some((_, Rest::Always)) => quote!(other => #keep,),
            Some((_, Rest::IfOpen)) => quote!(other if reader.closed => #report, other => #keep,),
        };
        let rest = self.rest.as_ref().map(|_| quote!(let mut rest = ::stave_shape::Object::new();));
        let rest_field = self.rest.as_ref().map(|(ident, _)| quote!(#ident: rest,));
        let first = self.marks.len();
        let reads = self.members.iter().enumerate().map(|(index, member)| member.read(first + index));
        let values = self.members.iter().map(Member::value);
        let skipped = &self.skipped;
        quote! {{
            const KEYS: &[&str] = &[#(#keys),*];
            if ::stave_shape::ValueNode::kind(node) != ::stave_shape::ValueKind::Object {
                reader.wrong_type(node, at, "an object");
                return ::core::option::Option::None;
            }
            let mut slots: [::core::option::Option<N>; #count] = [::core::option::Option::None; #count];
            #rest
            ::stave_shape::ValueNode::members(node, |key, member| match key.text {
                #(#arms)*
                #tag_arm
                #unknown
            });
            #(#marks)*
            #(#reads)*
            #constructor {
                #(#values,)*
                #rest_field
                #(#skipped: ::core::default::Default::default(),)*
            }
        }}
    }

    /// How many keys an object has, if all are there.
    pub(crate) fn count(&self) -> usize {
        self.marks.len() + self.members.len()
    }

    /// The fields under names that no function uses.
    pub(crate) fn bindings(&self) -> TokenStream {
        let members = self.members.iter().map(|member| {
            let (ident, local) = (&member.ident, member.local());
            quote!(#ident: #local,)
        });
        let rest = self.rest.as_ref().map(|(ident, _)| quote!(#ident: field_rest,));
        let skipped = &self.skipped;
        quote!(#(#members)* #rest #(#skipped: _,)*)
    }

    /// Statements that add the bound fields to `object`.
    pub(crate) fn write(&self) -> TokenStream {
        let marks = self
            .marks
            .iter()
            .map(|(key, value)| quote!(object.insert(#key.to_owned(), ::stave_shape::Value::from(#value));));
        let members = self.members.iter().map(Member::write);
        let rest = self.rest.as_ref().map(
            |_| quote!(object.extend(field_rest.iter().map(|(key, value)| (key.clone(), value.clone())));),
        );
        quote!(#(#marks)* #(#members)* #rest)
    }

    pub(crate) fn schema(&self, description: &str, tag: Option<(&str, &str)>) -> TokenStream {
        let closed = match &self.rest {
            None => !self.open,
            Some((_, rest)) => *rest == Rest::IfOpen,
        };
        let tag = tag.map(|(key, word)| quote!(object.constant(#key, #word);));
        let marks = self.marks.iter().map(|(key, value)| quote!(object.constant(#key, #value);));
        let fields = self.members.iter().map(Member::schema);
        quote! {{
            let mut object = ::stave_shape::ObjectSchema::new(#description, #closed);
            #tag
            #(#marks)*
            #(#fields)*
            let _ = &definitions;
            object.finish()
        }}
    }
}

impl Member {
    fn new(field: &Field, ident: Ident, attributes: &FieldAttributes, container: &Container) -> Self {
        let inner = option_inner(&field.ty);
        let omit = attributes.omit_default;
        let presence = match (&attributes.default, &attributes.placeholder, inner) {
            (Some(value), ..) => Presence::Default { value: value.clone(), placeholder: false, omit },
            (None, Some(value), _) => Presence::Default { value: value.clone(), placeholder: true, omit },
            (None, None, Some(_)) => Presence::Optional { unset: attributes.unset.clone() },
            (None, None, None) => Presence::Required { stand_in: attributes.stand_in },
        };
        let is_optional = matches!(presence, Presence::Optional { .. });
        let not_null = attributes.not_null || container.not_null;
        Member {
            key: attributes.rename.clone().unwrap_or_else(|| ident.to_string()),
            ident,
            ty: if is_optional { inner.unwrap_or(&field.ty).clone() } else { field.ty.clone() },
            null_is_absent: attributes.null_is_absent || (is_optional && !not_null),
            presence,
            write_null: attributes.write_null,
            with: attributes.with.clone(),
            limits: limits(attributes),
            description: description(&field.attrs),
        }
    }

    fn local(&self) -> Ident {
        format_ident!("field_{}", self.ident)
    }

    fn null(&self) -> TokenStream {
        if self.null_is_absent {
            quote!(::stave_shape::Null::IsAbsent)
        } else {
            quote!(::stave_shape::Null::IsFault)
        }
    }

    fn function(&self, name: &str) -> TokenStream {
        let name = format_ident!("{name}");
        let ty = &self.ty;
        match &self.with {
            Some(module) => quote!(#module::#name),
            None => quote!(<#ty as ::stave_shape::Shape>::#name),
        }
    }

    fn read(&self, index: usize) -> TokenStream {
        let (local, key, limits, null) = (self.local(), &self.key, &self.limits, self.null());
        let read = self.function("read");
        match self.presence {
            Presence::Required { .. } => {
                quote!(let #local = reader.required(node, slots[#index], #key, at, &#limits, #read);)
            }
            Presence::Optional { .. } | Presence::Default { .. } => {
                quote!(let #local = reader.optional(slots[#index], #key, at, #null, &#limits, #read);)
            }
        }
    }

    /// The field of the constructor.
    fn value(&self) -> TokenStream {
        let (ident, local) = (&self.ident, self.local());
        match &self.presence {
            Presence::Required { stand_in: false } => quote!(#ident: #local?),
            Presence::Optional { .. } => quote!(#ident: #local),
            Presence::Default { value: Some(default), .. } => quote!(#ident: match #local {
                ::core::option::Option::Some(value) => value,
                ::core::option::Option::None => #default,
            }),
            Presence::Required { stand_in: true } | Presence::Default { value: None, .. } => {
                quote!(#ident: #local.unwrap_or_default())
            }
        }
    }

    fn write(&self) -> TokenStream {
        let (local, key, write) = (self.local(), &self.key, self.function("write"));
        let insert = |value: TokenStream| quote!(object.insert(#key.to_owned(), #value););
        match &self.presence {
            Presence::Optional { .. } => {}
            Presence::Default { value, omit: true, .. } => {
                let (ty, value) = (&self.ty, default_of(value.as_ref()));
                let insert = insert(quote!(#write(#local)));
                return quote!({
                    let default: #ty = #value;
                    if *#local != default { #insert }
                });
            }
            _ => return insert(quote!(#write(#local))),
        }
        let present = insert(quote!(#write(value)));
        let absent = self.write_null.then(|| insert(quote!(::stave_shape::Value::Null)));
        quote! {
            match #local {
                ::core::option::Option::Some(value) => { #present }
                ::core::option::Option::None => { #absent }
            }
        }
    }

    fn schema(&self) -> TokenStream {
        let (key, ty, limits, null) = (&self.key, &self.ty, &self.limits, self.null());
        let (write, schema, description) =
            (self.function("write"), self.function("schema"), &self.description);
        let value = match &self.presence {
            Presence::Default { value, placeholder: false, .. } => Some(default_of(value.as_ref())),
            Presence::Optional { unset: Some(value) } => Some(quote!(#value)),
            Presence::Default { placeholder: true, .. }
            | Presence::Optional { unset: None }
            | Presence::Required { .. } => None,
        };
        let default = match value {
            Some(value) => {
                quote!(::core::option::Option::Some({ let value: #ty = #value; #write(&value) }))
            }
            None => quote!(::core::option::Option::None),
        };
        let require =
            matches!(self.presence, Presence::Required { .. }).then(|| quote!(object.require(#key);));
        quote! {
            let schema = #schema(definitions);
            let described = ::stave_shape::Described { description: #description, default: #default };
            object.field(#key, schema, &#limits, #null, described);
            #require
        }
    }
}

fn default_of(value: Option<&Expr>) -> TokenStream {
    match value {
        Some(value) => quote!(#value),
        None => quote!(::core::default::Default::default()),
    }
}

fn limits(attributes: &FieldAttributes) -> TokenStream {
    let some = |value: &Option<Expr>| match value {
        Some(value) => quote!(::core::option::Option::Some(#value)),
        None => quote!(::core::option::Option::None),
    };
    let (min, max) = (some(&attributes.min), some(&attributes.max));
    let (max_length, pattern) = (some(&attributes.max_length), some(&attributes.pattern));
    let FieldAttributes { filled, not_empty, not_blank, .. } = attributes;
    quote! {
        ::stave_shape::FieldLimits {
            min: #min,
            max: #max,
            filled: #filled,
            not_empty: #not_empty,
            not_blank: #not_blank,
            max_length: #max_length,
            pattern: #pattern,
        }
    }
}

/// What an `Option` holds.
fn option_inner(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|segment| segment.ident == "Option")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(inner) => Some(inner),
        _ => None,
    })
}

//! Virtual keys: who may ask for which models, how often and for how much money.

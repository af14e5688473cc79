#!/bin/sh
# Makes the Rust and the Python code of idl/hopmeter.thrift anew, with Debian's thrift-compiler 0.17. They are kept in
# the checkout, so that building and using these languages needs no compiler; C++ generates its own when it is built.
set -eu
cd "$(dirname "$0")"

thrift -out rust/src/idl --gen rs idl/hopmeter.thrift
# Inner attributes cannot be included into a module; rust/src/idl/mod.rs has them instead.
sed '/^#!\[/d' rust/src/idl/hopmeter.rs >rust/src/idl/generated.rs
rm rust/src/idl/hopmeter.rs

thrift -out python --gen py idl/hopmeter.thrift
rm -f python/__init__.py python/hopmeter_idl/Exchange-remote

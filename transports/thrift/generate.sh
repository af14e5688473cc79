#!/bin/sh
# Makes the Rust and the Python code of idl/hopmeter.thrift anew, with Debian's thrift-compiler 0.17. They are kept in
# the checkout, so that building and using these languages needs no compiler; C++ generates its own when it is built.
set -eu
cd "$(dirname "$0")"

thrift -out rust/src/idl --gen rs idl/hopmeter.thrift
# Inner attributes cannot be included into a module; rust/src/idl/mod.rs has them instead. Nothing uses the client, which
# only has whole calls.
sed -e '/^#!\[/d' -e '/^\/\/ Exchange service client/,/^\/\/ Exchange service processor/d' rust/src/idl/hopmeter.rs >rust/src/idl/generated.rs
rm rust/src/idl/hopmeter.rs

# The library's base classes read and write the messages, with the same C extension as code generated without `dynamic`.
thrift -out python --gen py:dynamic,slots idl/hopmeter.thrift
rm -f python/__init__.py python/hopmeter_idl/Exchange-remote python/hopmeter_idl/constants.py
: >python/hopmeter_idl/__init__.py  # it names the constants

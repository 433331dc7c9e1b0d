# SPDX-License-Identifier: MIT
# The front door. meson and ninja do the work behind it.
#
#   make          the release build: build/bread
#   make run      installs what is missing, builds, and serves examples/hello
#   make test     a build with gcc and every test, some minutes
#   make check    everything that must hold, as .ci/run does
#   make bench    measures it beside others (bench/README.md)
#   make install  to PREFIX: the program, the library, its headers, the manual
PREFIX ?= /usr/local

all: build/build.ninja
	@ninja -C build

build/build.ninja:
	@meson setup build --buildtype=release --prefix=$(PREFIX) -Dtests=false

deps:
	@tools/deps build

run: deps
	@$(MAKE) --no-print-directory all
	@build/bread dev --cwd examples/hello

test: deps-check
	@tools/check gcc

check: deps-check
	@tools/check

deps-check:
	@tools/deps check

bench: all
	@bench/run

install: all
	@grep -qx 'prefix=$(PREFIX)' build/meson-private/bread.pc || \
		meson setup --reconfigure build --prefix=$(PREFIX)
	@meson install -C build --no-rebuild
	@[ -n "$(DESTDIR)" ] || ldconfig 2>/dev/null || true

clean:
	@rm -rf build build-gcc build-clang build-asan build-tsan build-fuzz

.PHONY: all deps run test check deps-check bench install clean

# SPDX-License-Identifier: Apache-2.0
# Builds, tests, checks and installs napier; `make help` lists the targets.

WORKLOADS := tcp_stream
VERSION   ?= 0.1.0
PREFIX    ?= /usr/local

# A flavour is one way to compile everything, with its own objects.
flavour.address,undefined := asan
flavour.thread            := tsan
FLAVOUR ?= $(if $(SAN),$(or $(flavour.$(SAN)),$(error SAN=$(SAN): use \
	   SAN=address,undefined or SAN=thread)),release)
OBJ     := build/$(FLAVOUR)
BIN     := $(if $(filter release,$(FLAVOUR)),bin,$(OBJ)/bin)
JUNIT   := $(OBJ)/junit
REPORTS := $(CURDIR)/$(OBJ)/reports
LIB     := $(OBJ)/libnapier.a
LOADS   := $(OBJ)/libworkloads.a

lib_src   := $(sort $(wildcard common/*.c common/*/*.c))
load_src  := $(sort $(foreach w,$(WORKLOADS),$(wildcard $(w)/*.c)))
unit_src  := $(sort $(wildcard tests/unit/test_*.c))
# tests/bench/bench compiles these itself; here they are only linted.
bench_src := $(sort $(wildcard tests/bench/*.c))
fuzz_src  := $(sort $(wildcard tests/fuzz/fuzz_*.c))
all_src   := $(lib_src) $(load_src) $(unit_src) $(bench_src) $(fuzz_src)
headers   := $(sort $(wildcard common/*.h common/*/*.h $(WORKLOADS:%=%/*.h) \
	     tests/*/*.h))
man       := $(wildcard $(foreach w,$(WORKLOADS),$(w)/$(w).1))
scripts   := $(shell grep -lE '^.!.*[/ ](ba)?sh$$' .ci/* scripts/* tests/* \
	     tests/*/* 2>/dev/null)

PROGRAMS := $(WORKLOADS:%=$(BIN)/%)
UNIT     := $(unit_src:%.c=$(OBJ)/%)
FUZZ     := $(fuzz_src:%.c=$(OBJ)/%)

# Libraries. Nothing is probed for goals that compile nothing.
PKG_CONFIG ?= pkg-config
need = $(if $(shell $(PKG_CONFIG) --exists $(1) 2>&1 || echo missing),$(2))
ifneq ($(filter-out clean help format uninstall,\
	$(or $(MAKECMDGOALS),all)),)
missing := $(strip \
	$(if $(shell command -v $(PKG_CONFIG)),,pkg-config) \
	$(call need,hwloc,libhwloc-dev) $(call need,numa,libnuma-dev) \
	$(call need,libcjson,libcjson-dev) \
	$(if $(filter check% lint%,$(MAKECMDGOALS)),\
	$(call need,cmocka,libcmocka-dev)))
$(if $(missing),$(error missing packages; on Debian: \
	apt-get install $(missing)))
pc_libs := $(shell $(PKG_CONFIG) --libs hwloc numa libcjson) -lm
# The sources say <cjson/cJSON.h>, libcjson.pc points inside that folder.
pc_cflags := $(filter-out -I/usr/include,$(patsubst -I%/cjson,-I%,\
	     $(shell $(PKG_CONFIG) --cflags hwloc numa libcjson)))
endif

# The project's own flags come first, so that the user's CPPFLAGS, CFLAGS,
# LDFLAGS and LDLIBS win. No _FORTIFY_SOURCE: it renames recv and others
# behind the back of the unit tests' --wrap.
WARNINGS := -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes \
	-Wcast-qual -Wpointer-arith -Wformat=2 -Wundef -Wvla \
	$(if $(WERROR),-Werror)
own_cppflags := -I. -D_GNU_SOURCE $(pc_cflags)
own_cflags := -std=c11 -O2 -g -pthread $(WARNINGS) -fstack-protector-strong \
	$(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all \
	-fno-omit-frame-pointer)
# A bundle finds its libraries beside itself; DT_RPATH (not DT_RUNPATH) also
# holds for the libraries that those need in turn.
ldflags.bundle := -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/../lib'
# As shared libraries the two would not share log_path: reports would be lost.
ldflags.asan := -static-libasan -static-libubsan
own_ldflags := -pthread -Wl,-z,relro,-z,now $(if $(SAN),-fsanitize=$(SAN)) \
	$(ldflags.$(FLAVOUR))

compile = $(CC) $(own_cppflags) $(CPPFLAGS) $(own_cflags) $(extra) $(CFLAGS)
link    = $(CC) $(own_cflags) $(CFLAGS) $(own_ldflags) $(LDFLAGS)
libs    = $(LIB) $(pc_libs) $(LDLIBS)

Q := $(if $(V),,@)
say = @$(if $(V),:,printf '  %-5s %s\n' $(1) $@)
# $(call stamp,TEXT): rewrite the target only when TEXT is not what it holds.
stamp = @mkdir -p $(@D); t='$(subst ','\'',$(1))'; \
	[ "$$t" = "$$(cat $@ 2>/dev/null)" ] || printf '%s\n' "$$t" >$@

all: $(PROGRAMS) ## build the programs into bin/

.SECONDEXPANSION:
$(PROGRAMS): $(BIN)/%: $$(addprefix $(OBJ)/,$$(addsuffix .o,\
		$$(basename $$(wildcard $$*/*.c)))) $(LIB)
	$(call say,LD)
	@mkdir -p $(@D)
	$(Q)$(link) -o $@ $(filter %.o,$^) $(libs)

$(LIB): $(lib_src:%.c=$(OBJ)/%.o) $(OBJ)/members
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcs $@ $(filter %.o,$^)

# The workloads without their main(), for unit tests.
$(LOADS): $(patsubst %.c,$(OBJ)/%.o,$(filter-out %/main.c,$(load_src))) \
		$(OBJ)/members
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcs $@ $(filter %.o,$^)

$(OBJ)/%.o: %.c $(OBJ)/flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(compile) -MMD -MP -c -o $@ $<

# What a file was made with is part of what it depends on.
.PHONY: FORCE
$(OBJ)/flags: FORCE
	$(call stamp,$(compile) $(link))
$(OBJ)/members: FORCE
	$(call stamp,$(lib_src) $(load_src))
$(OBJ)/version: FORCE
	$(call stamp,$(revision))

# The version goes to one object, so that a commit rebuilds just that.
revision := $(or $(if $(wildcard .git),$(shell GIT_OPTIONAL_LOCKS=0 \
	git describe --always --dirty 2>/dev/null)),$(VERSION))
$(OBJ)/common/version.o: $(OBJ)/version
$(OBJ)/common/version.o: private extra = -DNAPIER_VERSION='"$(revision)"'

# A test's first lines may say: /* wrap: recv send */
wrap = $(addprefix -Wl$(comma)--wrap=,$(shell \
	sed -n '1,12s|.*/\* wrap: \([^*]*\)\*/.*|\1|p' $(1)))
comma := ,
# Only the linker calls a __wrap_ function.
$(OBJ)/tests/%.o: private extra = -Wno-missing-prototypes
$(UNIT): $(OBJ)/%: $(OBJ)/%.o $(LOADS) $(LIB)
	$(call say,LD)
	$(Q)$(link) $(call wrap,$*.c) -o $@ $< $(LOADS) $(libs) -lcmocka

-include $(patsubst %.c,$(OBJ)/%.d,$(all_src))

# Tests. Each command runs under tests/run, which leaves a JUnit file whatever
# becomes of it; tests/summary adds those up.
slow.asan := 3
slow.tsan := 6
SLOW     := $(or $(slow.$(FLAVOUR)),1)
env.asan := ASAN_OPTIONS=handle_segv=2:log_path=$(REPORTS)/asan \
	UBSAN_OPTIONS=print_stacktrace=1:log_path=$(REPORTS)/ubsan
# TSan cannot map its shadow when addresses are randomised too widely.
env.tsan := TSAN_OPTIONS=second_deadlock_stack=1:log_path=$(REPORTS)/tsan \
	$(if $(filter tsan,$(FLAVOUR)),$(shell setarch -R true 2>/dev/null && \
	echo setarch -R))
NAPIER_BIN := $(CURDIR)/$(BIN)
run := env NAPIER_BIN=$(NAPIER_BIN) NAPIER_SLOW=$(SLOW) NAPIER_SAN=$(SAN) \
	PYTHONDONTWRITEBYTECODE=1 $(env.$(FLAVOUR))
seconds = $(shell echo $$(($(1) * $(SLOW))))
pytest = /usr/bin/python3 -m pytest -q -p no:cacheprovider \
	--junitxml $(JUNIT)/$(1).xml --timeout $(2) $(PYTEST_ARGS) tests/e2e

# Sanitizers write to files, so that what happens in any child is seen.
begin = @$(if $(SAN),rm -rf $(REPORTS); mkdir -p -m 1777 $(REPORTS);) \
	mkdir -p $(JUNIT)
reports = $(if $(SAN),tests/run $(JUNIT) reports-$(1) \
	sh -c '! cat $(REPORTS)/* 2>/dev/null | grep .',:)

check: all $(UNIT) ## every test and small check; ends with the sum
	@rm -rf $(JUNIT)
	$(Q)for t in check-unit check-e2e check-small; do \
		$(MAKE) --no-print-directory $$t || true; done
	$(Q)tests/summary $(JUNIT)

check-unit: $(UNIT) ## unit tests (cmocka)
	$(begin)
	$(Q)bad=0; for t in $(UNIT); do $(run) tests/run -x $(JUNIT) $${t##*/} \
		timeout -k 5 $(call seconds,60) $$t || bad=1; done; \
		$(call reports,unit) || bad=1; exit $$bad

check-e2e: all ## end-to-end tests (pytest); PYTEST_ARGS='-k name'
	$(begin)
	$(Q)bad=0; $(if $(wildcard tests/e2e/test_*.py),$(run) tests/run -x \
		$(JUNIT) e2e $(call pytest,e2e,$(call seconds,120)) || bad=1;) \
		$(call reports,e2e) || bad=1; exit $$bad

check-small: all
	@mkdir -p $(JUNIT)
	$(Q)bad=0; tests/run $(JUNIT) layers scripts/check-layers || bad=1; \
		for m in $(man); do p=$$(basename $$m .1); tests/run $(JUNIT) \
		manpage-$$p scripts/check-manpage $(BIN)/$$p $$m || bad=1; \
		done; exit $$bad

san_goals := check-unit check-e2e
check-san: ## unit and e2e tests under ASan+UBSan, then under TSan
	@rm -rf build/asan/junit build/tsan/junit
	$(Q)for s in address,undefined thread; do \
		$(MAKE) --no-print-directory SAN=$$s all unit-programs || exit; \
		for t in $(san_goals); do \
		$(MAKE) --no-print-directory SAN=$$s $$t || true; done; done
	$(Q)tests/summary build/asan/junit build/tsan/junit

unit-programs: $(UNIT)

soak: all ## end-to-end tests with their full repeat counts
	$(begin)
	$(Q)NAPIER_SOAK=1 $(run) tests/run -x $(JUNIT) soak \
		$(call pytest,soak,3600); tests/summary $(JUNIT)/soak*.xml

FUZZ_SECONDS ?= 30
fuzz: ## every fuzz target for FUZZ_SECONDS, two at a time
	@rm -rf build/fuzz/junit
	$(Q)for t in fuzz-programs fuzz-run; do \
		$(MAKE) --no-print-directory -j2 -k FLAVOUR=fuzz CC=clang \
		SAN=fuzzer-no-link,address,undefined $$t || \
		[ $$t = fuzz-run ] || exit; done
	$(Q)tests/summary build/fuzz/junit

fuzz-programs: $(FUZZ)
fuzz-run: $(FUZZ:%=%.run)
$(FUZZ): $(OBJ)/%: $(OBJ)/%.o $(LOADS) $(LIB)
	$(call say,LD)
	$(Q)$(link) -fsanitize=fuzzer,address,undefined -o $@ $< $(LOADS) $(libs)
.PHONY: $(FUZZ:%=%.run)
$(FUZZ:%=%.run): %.run: %
	@mkdir -p $(OBJ)/corpus/$(*F) $(JUNIT)
	$(Q)tests/run -q $(JUNIT) $(*F) $* -max_total_time=$(FUZZ_SECONDS) \
		-timeout=10 -rss_limit_mb=1024 -print_final_stats=1 \
		-artifact_prefix=$(OBJ)/$(*F)- $(OBJ)/corpus/$(*F) \
		$(wildcard tests/fuzz/corpus/$(*F))

bench: all ## against a bare loop and other tools; BENCH_ARGS='--list'
	$(Q)tests/bench/bench $(BENCH_ARGS)

demo: all ## a short run between two programs of this machine, in words
	$(Q)scripts/demo

# Static checks; `make -k lint` shows all of them whatever fails.
lint: lint-format lint-build lint-cppcheck lint-text lint-layers ## static checks
lint-format:
	$(if $(all_src)$(headers),clang-format --dry-run -Werror \
		$(all_src) $(headers))
lint-build: compile_commands.json
	$(Q)$(MAKE) --no-print-directory -j2 -k FLAVOUR=lint WERROR=1 lint-objects
lint-objects: $(all_src:%.c=$(OBJ)/%.tidy)
# Nothing else needs these, so make would remove them.
.SECONDARY: $(bench_src:%.c=$(OBJ)/%.o)
# Only files that changed, or that include something that did, are read again.
$(OBJ)/%.tidy: %.c $(OBJ)/%.o .clang-tidy tests/unit/.clang-tidy
	$(call say,TIDY)
	$(Q)clang-tidy -p . --quiet $< 2>$@.log || { cat $@.log; exit 1; }
	@touch $@
lint-cppcheck:
	cppcheck --quiet -j2 --std=c11 --error-exitcode=1 --inline-suppr \
		--enable=warning,performance,portability -D_GNU_SOURCE \
		-I. $(lib_src) $(load_src) $(bench_src)
lint-text:
	$(if $(scripts),shellcheck -S warning $(scripts))
	codespell
	$(if $(man),mandoc -T lint -W warning $(man))
lint-layers:
	scripts/check-layers

compile_commands.json: $(OBJ)/flags $(all_src)
	$(Q)entry='{"directory": "$(CURDIR)", "file": "%s", "command": "%s"}'; \
		for f in $(all_src); do printf "$${sep:-[}\\n$$entry" \
		$$f "$(compile) -c $$f"; sep=,; done >$@; echo ']' >>$@

format: ## rewrite the C files in the project's layout
	$(Q)clang-format -i $(all_src) $(headers)

bindir := $(DESTDIR)$(PREFIX)/bin
mandir := $(DESTDIR)$(PREFIX)/share/man/man1
docdir := $(DESTDIR)$(PREFIX)/share/doc/napier
docs   := $(wildcard README.md LICENSE docs/*.md docs/*.json)
install: all ## install below DESTDIR and PREFIX (/usr/local)
	$(Q)install -d $(bindir) $(mandir) $(docdir)
	$(Q)install -m 755 $(PROGRAMS) $(bindir)
	$(if $(man),$(Q)install -m 644 $(man) $(mandir))
	$(Q)for f in $(docs); do install -D -m 644 $$f $(docdir)/$$f; done

uninstall: ## remove what install put there
	$(Q)rm -f $(WORKLOADS:%=$(bindir)/%) \
		$(addprefix $(mandir)/,$(notdir $(man)))
	$(Q)rm -rf $(docdir)

bundle: ## a folder and archive that run without the libraries installed
	$(Q)$(MAKE) --no-print-directory FLAVOUR=bundle all
	$(Q)scripts/bundle $(revision) $(WORKLOADS)

clean: ## remove everything that was built
	$(Q)rm -rf build bin compile_commands.json

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/\1|\2/p' Makefile | \
		awk -F'|' '{ printf "  %-11s %s\n", $$1, $$2 }'
	@echo 'Variables: V=1 SAN=address,undefined|thread WERROR=1 CC CPPFLAGS'
	@echo '  CFLAGS LDFLAGS DESTDIR PREFIX PYTEST_ARGS BENCH_ARGS FUZZ_SECONDS'

.PHONY: all check check-unit check-e2e check-small check-san unit-programs \
	soak fuzz fuzz-programs fuzz-run bench demo lint lint-format lint-build lint-objects \
	lint-cppcheck lint-text lint-layers format install uninstall bundle \
	clean help
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all

/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz lists of networks, source addresses and CPUs. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/control/admit.h"
#include "common/plan/addr.h"
#include "common/plan/topo.h"

#define ROOM 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void network(const char *text)
{
	struct addr_net net;
	struct fault f = { 0 };
	char buf[ADDR_TEXT];

	if (addr_net_parse(text, &net, &f)) {
		assert(f.text[0] && !strchr(f.text, '\n'));
		return;
	}
	assert(!f.text[0]);
	assert(net.bits >= 0 &&
	       net.bits <= (net.base.sa.sa_family == AF_INET6 ? 128 : 32));
	/* A network holds the address it was written with. */
	assert(addr_net_holds(&net, &net.base));
	assert(addr_text(&net.base, false, buf, sizeof(buf)) == buf && buf[0]);
}

static void addresses(const char *text, int family)
{
	struct addr out[ROOM];
	struct fault f = { 0 };
	int n = addr_list(text, family, out, ROOM, &f);

	if (n < 0) {
		assert(f.text[0] && !strchr(f.text, '\n'));
		return;
	}
	assert(n >= 1 && n <= ROOM && !f.text[0]);
	for (int i = 0; i < n; i++)
		assert(out[i].sa.sa_family == family && !addr_port(&out[i]));
}

static void allow(const char *text)
{
	struct options o = options_defaults();
	struct admit_rules rules;
	struct fault f = { 0 };

	o.allow = text;
	if (!admit_rules(&rules, "p", &o, &f))
		assert(rules.n_nets >= 1 && rules.n_nets <= ADMIT_NETS);
	else
		assert(f.text[0]);
}

/* A CPU list names allowed CPUs, each once. */
static void cpus(const char *text)
{
	static struct topo *t;
	struct fault f = { 0 };
	int *list = NULL, n = 0;

	if (!t)
		t = topo_load_from("pack:2 numa:1 core:4 pu:2", "0-9,12", &f);
	assert(t);
	if (topo_order_list(t, text, &list, &n, &f)) {
		assert(f.text[0] && !strchr(f.text, '\n'));
		return;
	}
	assert(n >= 1 && n <= topo_cpus(t) && !f.text[0]);
	for (int i = 0; i < n; i++) {
		assert((list[i] >= 0 && list[i] <= 9) || list[i] == 12);
		for (int k = 0; k < i; k++)
			assert(list[i] != list[k]);
	}
	free(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (size > 400)
		return 0;
	text = malloc(size + 1);
	assert(text);
	memcpy(text, data, size);
	text[size] = 0;
	network(text);
	addresses(text, AF_INET);
	addresses(text, AF_INET6);
	allow(text);
	cpus(text);
	free(text);
	return 0;
}

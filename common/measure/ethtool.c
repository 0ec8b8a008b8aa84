/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of an interface's driver, as ethtool -S shows them. */
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/measure/ethtool.h"

/* A driver with one set of counters for each of 1000 queues has fewer. */
#define ETHTOOL_MOST 65536

_Static_assert(ETHTOOL_NAME == ETH_GSTRING_LEN, "length of a name");

/* Ask the driver of @interface; @command begins with its number. */
static int ask(int fd, const char *interface, void *command)
{
	struct ifreq rq = { .ifr_data = command };

	/* A name that is too long is that of no interface. */
	strncpy(rq.ifr_name, interface, sizeof(rq.ifr_name) - 1);
	return ioctl(fd, SIOCETHTOOL, &rq);
}

/* How many counters there are. */
static uint32_t count(int fd, const char *interface)
{
	struct {
		struct ethtool_sset_info head;
		uint32_t n;
	} info = { .head = { .cmd = ETHTOOL_GSSET_INFO,
			     .sset_mask = 1ull << ETH_SS_STATS } };

	if (ask(fd, interface, &info) || !info.head.sset_mask ||
	    info.n > ETHTOOL_MOST)
		return 0;
	return info.n;
}

static int read_names(int fd, const char *interface, struct ethtool_reading *r)
{
	size_t size = (size_t)r->n * ETHTOOL_NAME;
	struct ethtool_gstrings *s = calloc(1, sizeof(*s) + size);
	int failed;

	r->names = calloc(1, size);
	if (!s || !r->names) {
		free(s);
		return -1;
	}
	s->cmd = ETHTOOL_GSTRINGS;
	s->string_set = ETH_SS_STATS;
	s->len = r->n;
	failed = ask(fd, interface, s) || s->len != r->n;
	if (!failed)
		memcpy(r->names, s->data, size);
	free(s);
	return failed ? -1 : 0;
}

static int read_values(int fd, const char *interface, struct ethtool_reading *r)
{
	size_t size = (size_t)r->n * sizeof(uint64_t);
	struct ethtool_stats *s = calloc(1, sizeof(*s) + size);
	int failed;

	r->values = calloc(1, size);
	if (!s || !r->values) {
		free(s);
		return -1;
	}
	s->cmd = ETHTOOL_GSTATS;
	s->n_stats = r->n;
	failed = ask(fd, interface, s) || s->n_stats != r->n;
	if (!failed)
		memcpy(r->values, s->data, size);
	free(s);
	return failed ? -1 : 0;
}

void ethtool_read(const char *interface, struct ethtool_reading *out)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memset(out, 0, sizeof(*out));
	if (fd < 0)
		return;
	out->n = count(fd, interface);
	if (out->n &&
	    (read_names(fd, interface, out) || read_values(fd, interface, out)))
		ethtool_free(out);
	(void)close(fd); /* nothing was sent */
}

void ethtool_free(struct ethtool_reading *r)
{
	free(r->names);
	free(r->values);
	memset(r, 0, sizeof(*r));
}

/* Copy a driver's name, which may hold anything, as part of a key. */
static void clean_name(const char *from, char *to)
{
	size_t i;

	for (i = 0; i < ETHTOOL_NAME && from[i]; i++)
		to[i] = strchr(RESULT_NAME_CHARACTERS, from[i]) ? from[i] : '_';
	to[i] = '\0';
}

static bool is_there(const struct net_result *r, const char *name)
{
	int i;

	for (i = 0; i < (int)r->n_driver; i++) {
		if (!strcmp(r->driver[i].name, name))
			return true;
	}
	return false;
}

void ethtool_since(const struct ethtool_reading *a,
		   const struct ethtool_reading *b, struct net_result *out)
{
	uint32_t i;

	out->n_driver = out->driver_left_out = 0;
	if (!a->n || a->n != b->n ||
	    memcmp(a->names, b->names, (size_t)a->n * ETHTOOL_NAME) != 0)
		return;
	for (i = 0; i < a->n; i++) {
		struct driver_counter *c = &out->driver[out->n_driver];
		char name[sizeof(c->name)];

		if (a->values[i] == b->values[i])
			continue;
		clean_name(a->names + (size_t)i * ETHTOOL_NAME, name);
		/* A key must not come twice. */
		if (out->n_driver == RESULT_DRIVER_COUNTERS || !*name ||
		    is_there(out, name)) {
			out->driver_left_out++;
			continue;
		}
		memcpy(c->name, name, sizeof(name));
		c->delta = (int64_t)(b->values[i] - a->values[i]);
		out->n_driver++;
	}
}

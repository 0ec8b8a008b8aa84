/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of a report and units: nothing moved, no time, silent peers. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/report/report.h"
#include "common/report/units.h"

static struct end_result local, peer, other;
static struct flow_result flows[4];
static const struct end_result *peers[2];
static struct report r;

static int setup(void **state)
{
	(void)state;
	memset(&local, 0, sizeof(local));
	memset(&peer, 0, sizeof(peer));
	memset(flows, 0, sizeof(flows));
	local.complete = peer.complete = true;
	local.seconds = peer.seconds = 2 * NSEC_PER_SEC;
	local.usage_end.user = NSEC_PER_SEC;
	peer.usage_end.system = 3 * NSEC_PER_SEC;
	other = peer;
	peers[0] = &peer;
	peers[1] = &other;
	r = (struct report){ .local = &local, .n_peers = 1, .peers = peers };
	return 0;
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fabs(b);
}

/* No figure may be infinite or not a number. */
static struct report_figures figures(void)
{
	struct report_figures f = report_figures(&r);
	const double all[] = { f.local_rate,  f.remote_rate, f.gigabits,
			       f.local_cpu,   f.remote_cpu,  f.local_cost,
			       f.remote_cost, f.both_cost,   f.fairness };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		assert_true(isfinite(all[i]));
	return f;
}

static void test_both_ways(void **state)
{
	struct report_figures f;

	(void)state;
	local.counts.rx_bytes = 250000000;
	local.counts.tx_bytes = 999; /* what the peer received counts */
	peer.counts.rx_bytes = 125000000;
	f = figures();
	assert_true(near(f.local_rate, 125e6));
	assert_true(near(f.remote_rate, 62.5e6));
	assert_true(near(f.gigabits, 3));
	assert_true(near(f.local_cpu, 1) && near(f.remote_cpu, 3));
	assert_true(near(f.local_cost, 1.0 / 3) && near(f.remote_cost, 1));
	assert_true(near(f.both_cost, 4.0 / 3));
	assert_true(f.complete);
	peer.complete = false;
	assert_false(figures().complete);
	peer.complete = true;
	local.complete = false;
	assert_false(figures().complete);
}

static void test_several_peers(void **state)
{
	struct report_figures f;

	(void)state;
	r.n_peers = 2;
	peer.counts.rx_bytes = 100;
	other.counts.rx_bytes = 300;
	other.seconds = NSEC_PER_SEC;
	f = figures();
	assert_true(near(f.remote_rate, 350));
	assert_true(near(f.remote_cpu, 6));
	assert_true(f.complete);
	other.complete = false;
	assert_false(figures().complete);
}

/* Nothing moved: rates are 0, what is divided by bytes is unknown. */
static void test_no_bytes(void **state)
{
	struct report_figures f = figures();

	(void)state;
	assert_true(f.local_rate == 0 && f.remote_rate == 0);
	assert_true(f.gigabits == 0);
	assert_true(f.local_cost < 0 && f.remote_cost < 0 && f.both_cost < 0);
	assert_true(f.fairness < 0);
	assert_true(f.complete);
}

/* A window without length has no rate. */
static void test_no_time(void **state)
{
	struct report_figures f;

	(void)state;
	local.counts.rx_bytes = 1000;
	local.seconds = 0;
	f = figures();
	assert_true(f.local_rate < 0);
	local.seconds = -5;
	assert_true(figures().local_rate < 0);
	peer.seconds = 0;
	peer.counts.rx_bytes = 1000;
	f = figures();
	assert_true(f.remote_rate < 0 && f.remote_cpu < 0);
	assert_false(f.complete);
}

/* What a peer that said nothing received cannot be told from here. */
static void test_silent_peer(void **state)
{
	struct report_figures f;

	(void)state;
	local.counts.rx_bytes = 125000000;
	local.counts.tx_bytes = 125000000;
	peers[0] = NULL;
	f = figures();
	assert_true(near(f.local_rate, 62.5e6));
	assert_true(f.remote_rate < 0 && f.remote_cpu < 0);
	assert_true(f.remote_cost < 0 && f.both_cost < 0);
	assert_true(near(f.gigabits, 2) && near(f.local_cost, 0.5));
	assert_false(f.complete);
	/* One of two is not enough either. */
	setup(state);
	r.n_peers = 2;
	peers[1] = NULL;
	peer.counts.rx_bytes = 5;
	f = figures();
	assert_true(f.remote_rate < 0 && f.remote_cpu < 0);
	assert_false(f.complete);
	r.n_peers = 0;
	f = figures();
	assert_true(f.remote_rate < 0);
	assert_false(f.complete);
}

static void test_fairness(void **state)
{
	struct end_result *e = &local;

	(void)state;
	for (int at = 0; at < 2; at++, e = &peer) {
		e->flows = flows;
		e->n_flows = 4;
		for (int i = 0; i < 4; i++)
			flows[i].rx_bytes = 1000;
		assert_true(near(figures().fairness, 1));
		for (int i = 1; i < 4; i++)
			flows[i].rx_bytes = 0;
		assert_true(near(figures().fairness, 0.25));
		flows[1].rx_bytes = 500;
		assert_true(near(figures().fairness, 2.25 / (4 * 1.25)));
		memset(flows, 0, sizeof(flows));
		assert_true(figures().fairness < 0);
		for (int i = 0; i < 4; i++)
			flows[i].rx_bytes = UINT64_MAX;
		assert_true(near(figures().fairness, 1));
		e->flows = NULL; /* announced, but they never came */
		assert_true(figures().fairness < 0);
		e->n_flows = 0;
	}
}

static void unit(const char *name, double rate, double want, const char *text)
{
	double v = -99;
	const char *got = units_convert(name, rate, &v);

	if (!got || strcmp(got, text) != 0 || fabs(v - want) > 1e-9 * want)
		fail_msg("%s of %g: %g %s", name, rate, v, got ? got : "-");
}

static void test_units(void **state)
{
	(void)state;
	unit("b", 1, 8, "bits/s");
	unit("k", 125, 1, "10^3bits/s");
	unit("m", 125e3, 1, "10^6bits/s");
	unit("g", 125e6, 1, "10^9bits/s");
	unit("B", 5, 5, "B/s");
	unit("K", 1024, 1, "KBytes/s");
	unit("M", 1 << 20, 1, "MBytes/s");
	unit("G", 1 << 30, 1, "GBytes/s");
	unit("Kb", 125, 1, "Kbit/s");
	unit("Mb", 1.25e9, 1e4, "Mbit/s");
	unit("Gb", 1.25e9, 10, "Gbit/s");
	unit("KB", 1e3, 1, "KB/s");
	unit("MB", 1e6, 1, "MB/s");
	unit("GB", 1e9, 1, "GB/s");
	unit("Kib", 128, 1, "Kibit/s");
	unit("Mib", 1 << 17, 1, "Mibit/s");
	unit("Gib", 1 << 27, 1, "Gibit/s");
	unit("KiB", 1024, 1, "KiB/s");
	unit("MiB", 1 << 20, 1, "MiB/s");
	unit("GiB", 1 << 30, 1, "GiB/s");
}

/* The first unit that gives less than 1000; the last one has no limit. */
static void test_auto_units(void **state)
{
	(void)state;
	unit("auto-b", 0, 0, "Kbit/s");
	unit("auto-b", 1, 0.008, "Kbit/s");
	unit("auto-b", 124e3, 992, "Kbit/s");
	unit("auto-b", 125e3, 1, "Mbit/s");
	unit("auto-b", 125e6, 1, "Gbit/s");
	unit("auto-b", 125e12, 1e6, "Gbit/s");
	unit("auto-B", 999e3, 999, "KB/s");
	unit("auto-B", 1e6, 1, "MB/s");
	unit("auto-iB", 1e6, 1e6 / 1024, "KiB/s");
	unit("auto-iB", 1 << 30, 1, "GiB/s");
	unit("auto-ib", 1 << 17, 1, "Mibit/s");
}

static void test_no_unit(void **state)
{
	static const char *const bad[] = { "",	    "x",      "mb",	"auto",
					   "auto-", "AUTO-b", "Mbit/s", "Tb" };
	double v = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_null(units_convert(bad[i], 1, &v));
	assert_true(v == 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_both_ways, setup),
		cmocka_unit_test_setup(test_several_peers, setup),
		cmocka_unit_test_setup(test_no_bytes, setup),
		cmocka_unit_test_setup(test_no_time, setup),
		cmocka_unit_test_setup(test_silent_peer, setup),
		cmocka_unit_test_setup(test_fairness, setup),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_auto_units),
		cmocka_unit_test(test_no_unit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

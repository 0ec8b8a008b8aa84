/* SPDX-License-Identifier: Apache-2.0 */
/* TCP_INFO and the counters of the network as JSON and back. */
#ifndef NAPIER_CONTROL_FIGURES_WIRE_H
#define NAPIER_CONTROL_FIGURES_WIRE_H

#include <cjson/cJSON.h>

#include "common/base/die.h"
#include "common/result/result.h"

/* Add @t to object @o as member "tcp". */
void figures_wire_put_tcp(cJSON *o, const struct tcp_result *t);

/* Add @n to object @o as member "net". */
void figures_wire_put_net(cJSON *o, const struct net_result *n);

/*
 * Read member "tcp" of @o into @t. Whatever is not there is unknown (-1); so
 * is all of it when the member is missing. 0, or -1 with @fault when a figure
 * is no integer from -1 up.
 */
int figures_wire_get_tcp(const cJSON *o, struct tcp_result *t,
			 struct fault *fault);

/*
 * The same for member "net" and @n, zeroed before. Lists that are too long
 * and names that could not stand in a key are refused too.
 */
int figures_wire_get_net(const cJSON *o, struct net_result *n,
			 struct fault *fault);

#endif

"""The exporter: what the services know, for Prometheus.

Owns nothing. At each scrape it asks the state and cluster services and says what they said; a service that is away is a 0 in
`rocketconnect_up`, never a failed scrape. Whether an executor is there it knows from the cluster service, which holds its
lease; the others are asked for their health. What takes longer than a scrape may, because brokers have to be asked for it, it
asks the gateway for in the background, as somebody who may only read: the lag of sinks whose tasks do not run, and dead letters
that wait. Shows counters, gauges and names, never a configuration or an error text.
"""

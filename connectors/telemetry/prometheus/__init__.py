"""Messages of Prometheus' remote write, made by `make proto` of third_party/protos/prometheus."""

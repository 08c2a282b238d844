"""A real executor that was told as little as the defaults say."""

from tests.services.executor.conftest import plane, plane_address, start_executor

__all__ = ["plane", "plane_address", "start_executor"]

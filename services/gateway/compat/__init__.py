"""The REST paths of RocketMQ Connect, with their original JSON shapes, in front of the services of this system.

Differences, all of them deliberate: the HTTP status tells the truth (`compat_status=200` brings the old habit back), nothing that
is refused is stored, and GET requests that change something can be switched off.
"""

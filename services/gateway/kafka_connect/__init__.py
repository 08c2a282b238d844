"""The REST paths of Kafka Connect under /kafka-connect, with their JSON shapes, in front of the services of this system.

Differences, all of them deliberate: a secret that is given as a value goes into the keystore; a task is restarted with all tasks of
its connector; a connector is stored when it was checked, so what Kafka Connect finds wrong later is told at once.
"""

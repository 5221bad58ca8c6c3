"""librdkafka's mock cluster of one broker; prints its port and lives until standard input ends. Arguments: folder of confluent_kafka."""

import sys

sys.path.insert(0, sys.argv[1])
from confluent_kafka import Producer  # noqa: E402

producer = Producer({"bootstrap.servers": "none", "test.mock.num.brokers": 1, "log_level": 0})
print(next(iter(producer.list_topics(timeout=10).brokers.values())).port, flush=True)
sys.stdin.read()

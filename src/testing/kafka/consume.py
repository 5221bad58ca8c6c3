"""Reads topics from their beginning to their present end, a JSON line a record. Arguments: folder of confluent_kafka, brokers, topics."""

import json
import sys

sys.path.insert(0, sys.argv[1])
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition  # noqa: E402

wanted = sys.argv[3].split(",")
consumer = Consumer(
    {
        "bootstrap.servers": sys.argv[2],
        "group.id": "reader",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "allow.auto.create.topics": False,
        "log_level": 0,
    }
)
known = consumer.list_topics(timeout=20).topics
places = [TopicPartition(name, partition, OFFSET_BEGINNING) for name in wanted if name in known for partition in known[name].partitions]
left = len(places)
if left > 0:
    consumer.assign(places)
while left > 0:
    message = consumer.poll(20)
    if message is None:
        sys.exit("no record and no end within 20 s")
    if message.error():
        if message.error().code() != KafkaError._PARTITION_EOF:
            sys.exit(str(message.error()))
        left -= 1
        continue
    headers = {name: value.decode() for name, value in message.headers() or []}
    record = {
        "topic": message.topic(),
        "partition": message.partition(),
        "key": message.key().decode(),
        "value": message.value().decode(),
        "headers": headers,
    }
    print(json.dumps(record))
consumer.close()

"""What the pika tests share: a connection and a confirming channel per test.

The broker is started by scripts/test_pika.ts, which says where it is in REPRISE_AMQP_PORT and
REPRISE_HTTP_PORT; nothing here starts or stops one. Delays are real, so they are short.
"""

import os
import unittest

import pika


def connect(user="guest", password="guest", vhost="/"):
    """A connection to the broker under test."""
    return pika.BlockingConnection(
        pika.ConnectionParameters(
            host="127.0.0.1",
            port=int(os.environ["REPRISE_AMQP_PORT"]),
            virtual_host=vhost,
            credentials=pika.PlainCredentials(user, password),
        )
    )


class BrokerCase(unittest.TestCase):
    """A test with a connection of its own and queues that nobody else has."""

    def setUp(self):
        self.connection = connect()
        self.channel = self.connection.channel()
        self.channel.confirm_delivery()

    def tearDown(self):
        if self.connection.is_open:
            self.connection.close()

    def queue(self, **arguments):
        """Declares a queue that goes with the connection; `x_max_length` is x-max-length."""
        named = {key.replace("_", "-"): value for key, value in arguments.items()}
        return self.channel.queue_declare("", exclusive=True, arguments=named).method.queue

    def publish(self, queue, body, exchange="", **properties):
        """Publishes and waits for the confirm; an unroutable message is an error."""
        self.channel.basic_publish(
            exchange,
            queue,
            body,
            pika.BasicProperties(**properties),
            mandatory=True,
        )

    def take(self, queue, seconds=10):
        """The next message of a queue as (method, properties, body), waiting for it."""
        for message in self.channel.consume(queue, inactivity_timeout=seconds):
            if message[0] is None:
                self.fail(f"nothing came from {queue} within {seconds} s")
            return message

    def count(self, queue):
        """Ready messages of a queue."""
        return self.channel.queue_declare(queue, passive=True).method.message_count

"""Connecting, declaring, binding, publishing and consuming with pika."""

import unittest

import pika
from pika.exceptions import (
    ChannelClosedByBroker,
    ConnectionClosedByBroker,
    NackError,
    ProbableAccessDeniedError,
    ProbableAuthenticationError,
    UnroutableError,
)

from broker_case import BrokerCase, connect

LARGE = 10 * 1024 * 1024
MANY = 10_000


class Connecting(unittest.TestCase):
    def test_wrong_password_is_refused(self):
        with self.assertRaises(ProbableAuthenticationError):
            connect(password="wrong")

    def test_unknown_vhost_is_refused(self):
        with self.assertRaises((ProbableAccessDeniedError, ConnectionClosedByBroker)):
            connect(vhost="nope")

    def test_server_says_what_it_is(self):
        connection = connect()
        properties = connection._impl.server_properties
        self.assertEqual(properties["product"], "Reprise")
        self.assertEqual(properties["version"], "3.13.7")
        self.assertTrue(properties["capabilities"]["publisher_confirms"])
        connection.close()


class Topology(BrokerCase):
    def test_topic_exchange_routes_by_binding(self):
        queue = self.queue()
        self.channel.exchange_declare("pika.topic", "topic", auto_delete=True)
        self.channel.queue_bind(queue, "pika.topic", "*.error")
        self.publish("app.error", b"routed", exchange="pika.topic")
        with self.assertRaises(UnroutableError):
            self.publish("app.info", b"returned", exchange="pika.topic")
        method, _, body = self.take(queue)
        self.assertEqual((method.exchange, method.routing_key), ("pika.topic", "app.error"))
        self.assertEqual(body, b"routed")
        self.channel.queue_unbind(queue, "pika.topic", "*.error")

    def test_declare_answers_with_counts(self):
        queue = self.queue()
        for _ in range(3):
            self.publish(queue, b"x")
        self.assertEqual(self.count(queue), 3)
        self.assertEqual(self.channel.queue_purge(queue).method.message_count, 3)
        self.assertEqual(self.channel.queue_delete(queue).method.message_count, 0)

    def test_error_closes_the_channel_and_no_other(self):
        other = self.connection.channel()
        with self.assertRaises(ChannelClosedByBroker) as closed:
            other.queue_declare("pika.none", passive=True)
        self.assertEqual(closed.exception.reply_code, 404)
        self.assertEqual(
            closed.exception.reply_text,
            "NOT_FOUND - no queue 'pika.none' in vhost '/'",
        )
        self.assertTrue(self.channel.is_open)
        self.queue()

    def test_wrong_retry_argument_is_a_precondition_failure(self):
        with self.assertRaises(ChannelClosedByBroker) as closed:
            self.queue(x_delayed_retry_min=0)
        self.assertEqual(closed.exception.reply_code, 406)
        self.assertIn("x-delayed-retry-min", closed.exception.reply_text)


class Publishing(BrokerCase):
    def test_properties_and_headers_arrive(self):
        queue = self.queue()
        headers = {"text": "käse", "number": 7, "list": [1, "a"], "flag": True}
        sent = dict(headers=headers, content_type="text/plain", priority=3, message_id="m")
        self.publish(queue, b"hello", **sent)
        _, properties, body = self.take(queue)
        self.assertEqual(body, b"hello")
        self.assertEqual(properties.headers, headers)
        self.assertEqual((properties.content_type, properties.message_id), ("text/plain", "m"))

    def test_mandatory_message_without_a_queue_is_returned(self):
        with self.assertRaises(UnroutableError) as returned:
            self.publish("pika.nowhere", b"lost")
        [message] = returned.exception.messages
        self.assertEqual((message.method.reply_code, message.body), (312, b"lost"))

    def test_full_queue_refuses(self):
        queue = self.queue(x_max_length=1, x_overflow="reject-publish")
        self.publish(queue, b"first")
        with self.assertRaises(NackError):
            self.publish(queue, b"second")

    def test_large_body_is_unharmed(self):
        queue = self.queue()
        body = bytes(range(256)) * (LARGE // 256)
        self.publish(queue, body)
        method, _, received = self.take(queue)
        self.assertEqual(received, body)
        self.channel.basic_ack(method.delivery_tag)

    def test_ten_thousand_messages_keep_their_order(self):
        queue = self.queue()
        plain = self.connection.channel()
        for number in range(MANY):
            plain.basic_publish("", queue, str(number).encode())
        received = []
        self.channel.basic_qos(prefetch_count=500)
        for method, _, body in self.channel.consume(queue):
            received.append(int(body))
            if len(received) % 100 == 0:
                self.channel.basic_ack(method.delivery_tag, multiple=True)
            if len(received) == MANY:
                break
        self.assertEqual(received, list(range(MANY)))
        self.channel.cancel()
        self.assertEqual(self.count(queue), 0)


class Consuming(BrokerCase):
    def test_nack_with_requeue_comes_back_at_once(self):
        queue = self.queue()
        self.publish(queue, b"again")
        method, _, _ = self.take(queue)
        self.assertFalse(method.redelivered)
        self.channel.basic_nack(method.delivery_tag, requeue=True)
        method, _, _ = self.take(queue)
        self.assertTrue(method.redelivered)
        self.channel.basic_ack(method.delivery_tag)

    def test_reject_without_requeue_dead_letters(self):
        dead = self.queue()
        queue = self.queue(x_dead_letter_exchange="", x_dead_letter_routing_key=dead)
        self.publish(queue, b"bad")
        method, _, _ = self.take(queue)
        self.channel.basic_reject(method.delivery_tag, requeue=False)
        self.channel.cancel()
        _, properties, body = self.take(dead)
        self.assertEqual(body, b"bad")
        [death] = properties.headers["x-death"]
        self.assertEqual((death["reason"], death["queue"], death["count"]), ("rejected", queue, 1))

    def test_prefetch_holds_back(self):
        queue = self.queue()
        for _ in range(5):
            self.publish(queue, b"x")
        self.channel.basic_qos(prefetch_count=2)
        self.take(queue)
        self.assertEqual(self.count(queue), 3)

    def test_cancel_leaves_what_is_out_for_delivery_where_it_is(self):
        queue = self.queue()
        self.publish(queue, b"x")
        method, _, _ = self.take(queue)
        self.channel.cancel()
        self.assertEqual(self.count(queue), 0)
        self.channel.basic_nack(method.delivery_tag, requeue=True)
        self.assertEqual(self.count(queue), 1)

    def test_deleted_queue_cancels_its_consumer(self):
        queue = self.queue()
        cancelled = []
        self.channel.add_on_cancel_callback(lambda frame: cancelled.append(frame.method))
        tag = self.channel.basic_consume(queue, lambda *message: None)
        self.connection.channel().queue_delete(queue)
        while not cancelled:
            self.connection.process_data_events(time_limit=1)
        self.assertEqual(cancelled[0].consumer_tag, tag)

    def test_get_takes_one(self):
        queue = self.queue()
        self.publish(queue, b"x")
        method, _, body = self.channel.basic_get(queue, auto_ack=True)
        self.assertEqual((method.message_count, body), (0, b"x"))
        self.assertEqual(self.channel.basic_get(queue), (None, None, None))

    def test_transaction_takes_effect_at_commit(self):
        queue = self.queue()
        tx = self.connection.channel()
        tx.tx_select()
        tx.basic_publish("", queue, b"rolled back")
        tx.tx_rollback()
        tx.basic_publish("", queue, b"committed")
        self.assertEqual(self.count(queue), 0)
        tx.tx_commit()
        _, _, body = self.take(queue)
        self.assertEqual(body, b"committed")


if __name__ == "__main__":
    unittest.main()

"""Automatic retries, and the older pattern of time-to-live and dead-letter queues, with pika."""

import base64
import json
import os
import time
import unittest
import urllib.request

from pika.exceptions import ChannelClosedByBroker

from broker_case import BrokerCase


def seconds_for(action):
    """How long an action took, and what it returned."""
    start = time.monotonic()
    result = action()
    return time.monotonic() - start, result


def management(path):
    """JSON from the broker's HTTP API."""
    port = os.environ["REPRISE_HTTP_PORT"]
    login = base64.b64encode(b"guest:guest").decode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/{path}",
        headers={"Authorization": f"Basic {login}"},
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)


class Retries(BrokerCase):
    def test_reject_comes_back_after_growing_delays_and_then_dead_letters(self):
        dead = self.queue()
        queue = self.queue(
            x_delayed_retry_min=50,
            x_delayed_retry_multiplier=2,
            x_delayed_retry_max=150,
            x_delivery_limit=3,
            x_dead_letter_exchange="",
            x_dead_letter_routing_key=dead,
        )
        self.publish(queue, b"job", headers={"kept": "yes"})
        method, properties, _ = self.take(queue)
        self.assertNotIn("x-delivery-count", properties.headers)
        for attempt, delay in enumerate([0.050, 0.100, 0.150], start=1):
            tag = method.delivery_tag

            def reject_and_wait():
                self.channel.basic_reject(tag, requeue=True)
                return self.take(queue)

            elapsed, (method, properties, body) = seconds_for(reject_and_wait)
            self.assertGreaterEqual(elapsed, delay)
            self.assertTrue(method.redelivered)
            self.assertEqual(body, b"job")
            self.assertEqual(properties.headers, {"kept": "yes", "x-delivery-count": attempt})
        self.channel.basic_reject(method.delivery_tag, requeue=True)
        self.channel.cancel()
        _, properties, body = self.take(dead)
        [death] = properties.headers["x-death"]
        self.assertEqual((death["reason"], death["queue"]), ("delivery_limit", queue))
        self.assertEqual(body, b"job")

    def test_delayed_message_is_seen_over_http_and_not_counted_as_ready(self):
        queue = self.queue(x_delayed_retry_min=60_000)
        self.publish(queue, b"later")
        method, _, _ = self.take(queue)
        self.channel.basic_nack(method.delivery_tag, requeue=True)
        self.assertEqual(self.count(queue), 0)
        retry = management(f"queues/%2F/{queue}")["delayed_retry"]
        self.assertEqual((retry["min"], retry["messages_delayed"]), (60_000, 1))
        [item] = management(f"queues/%2F/{queue}/retries")["items"]
        self.assertEqual((item["attempts"], item["size"], item["routing_key"]), (1, 5, queue))
        self.channel.cancel()
        self.assertEqual(self.channel.queue_purge(queue).method.message_count, 1)

    def test_retry_queue_cannot_be_touched(self):
        queue = self.queue(x_delayed_retry_min=1000)
        attempts = [
            lambda channel: channel.queue_declare(f"amq.retry-{queue}", passive=True),
            lambda channel: channel.queue_delete(f"amq.retry-{queue}"),
            lambda channel: channel.queue_purge(f"amq.retry-{queue}"),
            lambda channel: channel.basic_get(f"amq.retry-{queue}"),
            lambda channel: channel.queue_bind(f"amq.retry-{queue}", "amq.fanout"),
        ]
        for attempt in attempts:
            with self.assertRaises(ChannelClosedByBroker) as closed:
                attempt(self.connection.channel())
            self.assertEqual(closed.exception.reply_code, 403)

    def test_closed_channel_spends_a_delivery_without_delay(self):
        queue = self.queue(x_delayed_retry_min=60_000)
        self.publish(queue, b"job")
        other = self.connection.channel()
        other.basic_get(queue)
        other.close()
        method, properties, _ = self.channel.basic_get(queue)
        self.assertTrue(method.redelivered)
        self.assertEqual(properties.headers["x-delivery-count"], 1)


class DeadLetterLoop(BrokerCase):
    """Fixed delays by queues whose messages expire back into the work queue."""

    def test_loop_stops_by_the_count_in_x_death(self):
        work = self.queue()
        back = dict(x_dead_letter_exchange="", x_dead_letter_routing_key=work)
        fast = self.queue(x_message_ttl=40, **back)
        slow = self.queue(x_message_ttl=120, **back)
        self.publish(work, b"job")
        attempts = 0
        waited = []
        while True:
            method, properties, body = self.take(work)
            self.channel.basic_ack(method.delivery_tag)
            attempts += 1
            deaths = (properties.headers or {}).get("x-death", [])
            if sum(death["count"] for death in deaths) >= 3:
                break
            target = fast if attempts < 3 else slow

            def send_and_wait():
                self.publish(target, body, headers=properties.headers)
                start = time.monotonic()
                while self.count(work) == 0:
                    self.connection.process_data_events(time_limit=0.01)
                    if time.monotonic() - start > 10:
                        self.fail("the message did not come back")

            self.channel.cancel()
            waited.append(seconds_for(send_and_wait)[0])
        counts = {death["queue"]: death["count"] for death in deaths}
        self.assertEqual(counts, {fast: 2, slow: 1})
        self.assertEqual([death["reason"] for death in deaths], ["expired", "expired"])
        self.assertGreaterEqual(min(waited[:2]), 0.040)
        self.assertGreaterEqual(waited[2], 0.120)

    def test_short_expiration_does_not_wait_for_a_long_one(self):
        dead = self.queue()
        waiting = self.queue(x_dead_letter_exchange="", x_dead_letter_routing_key=dead)
        self.publish(waiting, b"long", expiration="60000")
        self.publish(waiting, b"short", expiration="30")
        _, properties, body = self.take(dead)
        self.assertEqual(body, b"short")
        self.assertEqual(properties.headers["x-death"][0]["original-expiration"], "30")
        self.assertEqual(self.count(waiting), 1)


if __name__ == "__main__":
    unittest.main()

import Lifecycle
import Testing

@testable import Kafka

@Test func `statistics say queue, brokers and the lag of what is ours`() {
    let json = #"""
        { "name": "rdkafka#consumer-1", "msg_cnt": 3, "msg_size": 300, "msg_max": 100000,
          "brokers": { "a:1/1": { "name": "a:1/1", "state": "UP", "rtt": { "min": 1, "p99": 2500 } },
                       "b:1/2": { "state": "DOWN", "rtt": { "p99": 100 } } },
          "topics": { "jobs": { "topic": "jobs", "batchsize": { "p99": 9 },
            "partitions": { "0": { "partition": 0, "hi_offset": 90, "ls_offset": 80, "consumer_lag": 12 },
                            "1": { "hi_offset": -1001, "ls_offset": -1001, "consumer_lag": -1 },
                            "-1": { "consumer_lag": 5 } } } },
          "cgrp": { "state": "up", "assignment_size": 2 }, "list": [1, [2], {"x": null}] }
        """#
    let statistics = Statistics(json: Array(json.utf8).span)
    #expect(statistics.queuedRecords == 3)
    #expect(statistics.queuedBytes == 300)
    #expect(statistics.brokersUp == 1)
    #expect(statistics.roundTripSeconds == 0.0025)
    #expect(statistics.assignedPartitions == 2)
    #expect(statistics.partitions == [TopicPartition("jobs", 0): .init(lag: 12, high: 90, stable: 80)])
}

@Test(arguments: [
    "", "{", "}", "{\"msg_cnt\":", "{\"msg_cnt\":1", "[[[[[[[[[[[[[[[[[[[[[[", "{\"a\\", "{\"a\":\"",
    "{\"\u{0}\":tru",
    "{\"msg_cnt\":99999999999999999999}",
])
func `broken statistics are no trap`(text: String) {
    #expect(Statistics(json: Array(text.utf8).span).partitions.isEmpty)
}

@Test func `a last stable offset that stands still below the end grows old`() {
    let jobs = TopicPartition("jobs", 0)
    let start = Instant(nanoseconds: 1)
    var ages = StableOffsetAges()
    let stuck = [jobs: Statistics.Partition(lag: 1, high: 10, stable: 4)]
    #expect(ages.update(stuck, at: start) == [jobs: 0])
    #expect(ages.update(stuck, at: start.advanced(byMilliseconds: 5000)) == [jobs: 5])
    let moved = [jobs: Statistics.Partition(lag: 1, high: 10, stable: 5)]
    #expect(ages.update(moved, at: start.advanced(byMilliseconds: 6000)) == [jobs: 0])
    let free = [jobs: Statistics.Partition(lag: 0, high: 10, stable: 10)]
    #expect(ages.update(free, at: start.advanced(byMilliseconds: 7000)).isEmpty)
}

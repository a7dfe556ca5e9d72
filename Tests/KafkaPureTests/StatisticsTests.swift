import Lifecycle
import Testing

@testable import Kafka

// The reading of librdkafka's statistics.

@Test func `statistics give the queue, the brokers and the lag of assigned partitions`() {
    let json = #"""
        { "name": "rdkafka#consumer-1", "msg_cnt": 3, "msg_size": 300, "msg_max": 100000,
          "brokers": { "a:1/1": { "name": "a:1/1", "state": "UP", "connects": 2, "rtt": { "min": 1, "p99": 2500 } },
                       "b:1/2": { "state": "DOWN", "connects": 5, "rtt": { "p99": 100 } } },
          "topics": { "jobs": { "topic": "jobs", "batchsize": { "p99": 9 },
            "partitions": { "0": { "partition": 0, "fetch_state": "active", "app_offset": 68, "hi_offset": 90, "ls_offset": 80 },
                            "1": { "fetch_state": "none", "app_offset": 3, "hi_offset": -1001, "ls_offset": -1001 },
                            "-1": { "app_offset": 5 } } } },
          "cgrp": { "state": "up", "assignment_size": 2 }, "list": [1, [2], {"x": null}] }
        """#
    let statistics = ClientStatistics(json: Array(json.utf8).span)
    #expect(statistics.queuedRecords == 3)
    #expect(statistics.queuedBytes == 300)
    #expect(statistics.brokersUp == 1)
    #expect(statistics.connectionAttempts == 7)
    #expect(statistics.roundTripSeconds == 0.0025)
    #expect(statistics.assignedPartitions == 2)
    #expect(statistics.partitions.compactMapValues(\.lag) == [TopicPartition("jobs", 0): 12])
}

@Test(arguments: [
    "1", "-1.5e3", "null", "\"}],{\"", "\"\\\"\"", "[]", "{}", "[1, [2], {\"x\": \"]\"}]", "{\"msg_cnt\": 9}",
])
func `unknown values of any kind are skipped`(value: String) {
    let statistics = ClientStatistics(json: Array("{\"other\": \(value), \"msg_cnt\": 3}".utf8).span)
    #expect(statistics.queuedRecords == 3)
}

@Test(arguments: [
    "", "{", "}", "{\"msg_cnt\":", "{\"msg_cnt\":1", "[[[[[[[[[[[[[[[[[[[[[[", "{\"a\\", "{\"a\":\"",
    "{\"a\":[}", "{\"a\":{\"b\":\"",
    "{\"\u{0}\":tru",
    "{\"msg_cnt\":99999999999999999999}",
])
func `broken statistics do not trap`(text: String) {
    #expect(ClientStatistics(json: Array(text.utf8).span).partitions.isEmpty)
}

@Test func `a last stable offset that stands still below the end ages`() {
    let jobs = TopicPartition("jobs", 0)
    let start = Instant(nanoseconds: 1)
    var ages = StableOffsetAges()
    func partition(stable: Int) -> [TopicPartition: ClientStatistics.PartitionStatistics] {
        var partition = ClientStatistics.PartitionStatistics()
        partition.highWatermark = 10
        partition.lastStableOffset = stable
        return [jobs: partition]
    }
    let stuck = partition(stable: 4)
    #expect(ages.update(with: stuck, at: start) == [jobs: 0])
    #expect(ages.update(with: stuck, at: start.advanced(byMilliseconds: 5000)) == [jobs: 5])
    let moved = partition(stable: 5)
    #expect(ages.update(with: moved, at: start.advanced(byMilliseconds: 6000)) == [jobs: 0])
    let free = partition(stable: 10)
    #expect(ages.update(with: free, at: start.advanced(byMilliseconds: 7000)).isEmpty)
}

@Test func `an idle client keeps its number of brokers, and a client that cannot connect has none`() {
    var reachability = BrokerReachability()
    /// Returns the number of reachable brokers after these statistics.
    func reachableCount(up: Int, attempts: Int) -> Int? {
        var statistics = ClientStatistics()
        statistics.brokersUp = up
        statistics.connectionAttempts = attempts
        return reachability.update(with: statistics)
    }
    #expect(reachableCount(up: 0, attempts: 0) == nil, "it has never needed a connection")
    #expect(reachableCount(up: 2, attempts: 2) == 2)
    #expect(reachableCount(up: 0, attempts: 2) == 2, "the brokers closed connections without use")
    #expect(reachableCount(up: 0, attempts: 5) == 0, "no attempt succeeds")
    #expect(reachableCount(up: 0, attempts: 9) == 0)
    #expect(reachableCount(up: 1, attempts: 10) == 1)
}

import Foundation
import Lifecycle
import Telemetry
import Testing

@testable import Broker

/// A broker in this process, and its metrics.
struct TestBroker {
    let running: RunningBroker
    let metrics: Metrics

    init(_ settings: BrokerSettings) throws {
        metrics = Metrics()
        running = try RunningBroker(settings: settings, metrics: metrics)
    }

    var address: String { "127.0.0.1:\(running.port)" }

    /// Connects a client.
    func client() throws -> RawClient { try RawClient(port: running.port) }

    /// Whether the rendered metrics have this line, for example `flotilla_broker_connections 2`.
    func hasMetric(_ line: String) -> Bool { metrics.render().split(separator: "\n").contains { $0 == line } }
}

/// Returns changed settings of a broker that removes its data when it stops.
func temporarySettings(_ change: (inout BrokerSettings) -> Void) throws -> BrokerSettings {
    var settings = try BrokerSettings.temporary()
    change(&settings)
    return settings
}

struct TimedOut: Error {}

/// Waits for a fact, for at most ten seconds.
func waitUntil(_ fact: () throws -> Bool) throws {
    let deadline = Date().addingTimeInterval(10)
    while try !fact() {
        guard Date() < deadline else { throw TimedOut() }
        usleep(1_000)
    }
}

/// Runs a broker while the body runs, by default with temporary settings.
func withBroker<Result>(
    _ settings: BrokerSettings? = nil, _ body: (TestBroker) throws -> Result
) throws -> Result {
    let broker = try TestBroker(settings ?? BrokerSettings.temporary())
    defer { broker.running.stop() }
    return try body(broker)
}

extension RawClient {
    /// Creates a topic, and returns the error in the answer. `ErrorCode.none` is success.
    func createTopic(_ topic: String, partitions: Int32 = 1, settings: [String: String] = [:]) throws
        -> ErrorCode?
    {
        send(.createTopics, version: 2, correlation: 1) { writer in
            writer.array([topic]) { writer, name in
                writer.string(name)  // name
                writer.int32(partitions)  // num_partitions
                writer.int16(1)  // replication_factor
                writer.array([Int32]()) { $0.int32($1) }  // assignments
                writer.array(settings.sorted { $0.key < $1.key }) { writer, setting in
                    writer.string(setting.key)  // configs: name
                    writer.nullableString(setting.value)  // configs: value
                }
            }
            writer.int32(1_000)  // timeout_ms
            writer.bool(false)  // validate_only
        }
        return try WireReader.read(try receive().body) { (reader) throws(WireError) in
            _ = try reader.int32()  // throttle_time_ms
            return try reader.array { (reader) throws(WireError) in
                _ = try reader.string()  // name
                let error = try reader.int16()
                _ = try reader.nullableString()  // error_message
                return ErrorCode(rawValue: error) ?? .unknownServerError
            }.first
        }
    }

    /// Sends a batch with one record to the first partition. With `acks` of 0 the broker sends no answer; with 1 or -1
    /// it answers when the record is stored.
    func produce(to topic: String, value: String, acks: Int16 = -1, correlation: Int32) {
        let batch = BatchBuilder.batch([NewRecord(key: nil, value: Array(value.utf8))], time: 1_000)
        produce(to: topic, batch: batch, acks: acks, correlation: correlation)
    }

    /// Sends these bytes as a batch to the first partition.
    func produce(to topic: String, batch: [UInt8], acks: Int16 = -1, correlation: Int32) {
        send(.produce, version: 3, correlation: correlation) { writer in
            writer.nullableString(nil)  // transactional_id
            writer.int16(acks)  // acks
            writer.int32(1_000)  // timeout_ms
            writer.topics([TopicPartitions(topic: topic, partitions: [0 as Int32])]) { writer, partition in
                writer.int32(partition)  // index
                writer.nullableBytes(batch)  // records
            }
        }
    }

    /// Asks for records of the first partition. The broker answers when it has `bytesMin` bytes, or after the wait.
    func fetch(
        _ topic: String, from offset: Int64, waitMilliseconds: Int32, bytesMin: Int32 = 1,
        bytesMax: Int32 = 1 << 20, correlation: Int32
    ) {
        send(.fetch, version: 4, correlation: correlation) { writer in
            writer.int32(-1)  // replica_id
            writer.int32(waitMilliseconds)  // max_wait_ms
            writer.int32(bytesMin)  // min_bytes
            writer.int32(bytesMax)  // max_bytes
            writer.int8(0)  // isolation_level: uncommitted
            writer.topics([TopicPartitions(topic: topic, partitions: [0 as Int32])]) { writer, partition in
                writer.int32(partition)  // partition
                writer.int64(offset)  // fetch_offset
                writer.int32(bytesMax)  // partition_max_bytes
            }
        }
    }

    /// Sends the request that the broker answers at once.
    func askVersions(correlation: Int32) {
        send(.apiVersions, version: 0, correlation: correlation) { _ in }
    }
}

/// Reads the answer for the only partition in a response to Produce.
func produceAnswer(in body: [UInt8]) throws -> (error: ErrorCode?, offset: Int64) {
    let topics = try WireReader.read(body) { (reader) throws(WireError) in
        try reader.topics { (reader) throws(WireError) in
            _ = try reader.int32()  // index
            let answer = (error: ErrorCode(rawValue: try reader.int16()), offset: try reader.int64())
            _ = try reader.int64()  // log_append_time_ms
            return answer
        }
    }
    return try #require(topics.first?.partitions.first, "the response has no partition")
}

/// Reads the answer for the only partition in a response to Fetch.
func fetchAnswer(in body: [UInt8]) throws -> (error: ErrorCode?, highWatermark: Int64, records: [UInt8]) {
    let topics = try WireReader.read(body) { (reader) throws(WireError) in
        _ = try reader.int32()  // throttle_time_ms
        return try reader.topics { (reader) throws(WireError) in
            _ = try reader.int32()  // partition_index
            let error = ErrorCode(rawValue: try reader.int16())
            let highWatermark = try reader.int64()
            _ = try reader.int64()  // last_stable_offset
            // aborted_transactions: producer_id and first_offset
            _ = try reader.nullableArray { (reader) throws(WireError) in
                (try reader.int64(), try reader.int64())
            }
            return (error: error, highWatermark: highWatermark, records: try reader.nullableBytes() ?? [])
        }
    }
    return try #require(topics.first?.partitions.first, "the response has no partition")
}

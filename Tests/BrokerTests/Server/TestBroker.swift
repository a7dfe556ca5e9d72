import Foundation
import Lifecycle
import Telemetry

@testable import Broker

/// A broker in this process, and its numbers.
struct TestBroker {
    let broker: RunningBroker
    let metrics: Metrics

    init(_ settings: BrokerSettings) throws {
        metrics = Metrics()
        broker = try RunningBroker(settings: settings, metrics: metrics)
    }

    var address: String { "127.0.0.1:\(broker.port)" }

    func client() throws -> RawClient { try RawClient(port: broker.port) }

    func shows(_ line: String) -> Bool { metrics.render().split(separator: "\n").contains { $0 == line } }
}

/// Returns settings for a broker that removes its data when it stops.
func temporary(_ change: (inout BrokerSettings) -> Void) throws -> BrokerSettings {
    var settings = try BrokerSettings.temporary()
    change(&settings)
    return settings
}

func withBroker<Result>(
    _ settings: BrokerSettings? = nil, _ body: (TestBroker) throws -> Result
) throws -> Result {
    let broker = try TestBroker(settings ?? BrokerSettings.temporary())
    defer { broker.broker.stop() }
    return try body(broker)
}

extension RawClient {
    /// Creates a topic, and waits until it is there.
    func create(_ topic: String, partitions: Int32 = 1, settings: [String: String] = [:]) throws -> ErrorCode?
    {
        send(.createTopics, 2, correlation: 1) { w in
            w.array([topic]) { w, name in
                w.string(name)
                w.int32(partitions)
                w.int16(1)
                w.array([Int32]()) { $0.int32($1) }
                w.array(settings.sorted { $0.key < $1.key }) { w, setting in
                    w.string(setting.key)
                    w.nullableString(setting.value)
                }
            }
            w.int32(1000)
            w.bool(false)
        }
        return try WireReader.read(try receive().body) { (r) throws(WireError) in
            _ = try r.int32()
            return try r.array { (r) throws(WireError) in
                _ = try r.string()
                let error = try r.int16()
                _ = try r.nullableString()
                return ErrorCode(rawValue: error) ?? .unknownServerError
            }.first
        }
    }

    func produce(_ topic: String, _ value: String, acks: Int16 = -1, correlation: Int32) {
        let batch = BatchBuilder.batch([NewRecord(key: nil, value: Array(value.utf8))], time: 1_000)
        produce(topic, batch, acks: acks, correlation: correlation)
    }

    func produce(_ topic: String, _ batch: [UInt8], acks: Int16 = -1, correlation: Int32) {
        send(.produce, 3, correlation: correlation) { w in
            w.nullableString(nil)
            w.int16(acks)
            w.int32(1000)
            w.topics([TopicPartitions(topic: topic, partitions: [0 as Int32])]) { w, partition in
                w.int32(partition)
                w.nullableBytes(batch)
            }
        }
    }

    func fetch(
        _ topic: String, from offset: Int64, wait: Int32, bytesMin: Int32 = 1, bytesMax: Int32 = 1 << 20,
        correlation: Int32
    ) {
        send(.fetch, 4, correlation: correlation) { w in
            w.int32(-1)
            w.int32(wait)
            w.int32(bytesMin)
            w.int32(bytesMax)
            w.int8(0)
            w.topics([TopicPartitions(topic: topic, partitions: [0 as Int32])]) { w, partition in
                w.int32(partition)
                w.int64(offset)
                w.int32(bytesMax)
            }
        }
    }

    func askVersions(correlation: Int32) {
        send(.apiVersions, 0, correlation: correlation) { _ in }
    }
}

/// The one partition's answer in a response to `produce`.
func produced(_ body: [UInt8]) throws -> (error: ErrorCode?, offset: Int64) {
    try WireReader.read(body) { (r) throws(WireError) in
        let topics = try r.topics { (r) throws(WireError) in
            _ = try r.int32()
            let answer = (ErrorCode(rawValue: try r.int16()), try r.int64())
            _ = try r.int64()
            return answer
        }
        return topics.first?.partitions.first ?? (nil, -1)
    }
}

/// The one partition's answer in a response to `fetch`.
func fetched(_ body: [UInt8]) throws -> (error: ErrorCode?, highWatermark: Int64, records: [UInt8]) {
    try WireReader.read(body) { (r) throws(WireError) in
        _ = try r.int32()
        let topics = try r.topics { (r) throws(WireError) in
            _ = try r.int32()
            let error = ErrorCode(rawValue: try r.int16())
            let end = try r.int64()
            _ = try r.int64()
            _ = try r.nullableArray { (r) throws(WireError) in (try r.int64(), try r.int64()) }
            return (error, end, try r.nullableBytes() ?? [])
        }
        return topics.first?.partitions.first ?? (nil, -1, [])
    }
}

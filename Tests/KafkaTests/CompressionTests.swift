import Broker
import Foundation
import Lifecycle
import Telemetry
import Testing

@testable import Kafka

/// The compression of records, by topic and by client.
@Suite struct CompressionTests {
    /// The size of the value that is written. All its bytes are equal.
    private static let valueByteCount = 100_000

    @Test func `a topic uses its own compression, and the other topics use the client's compression`()
        async throws
    {
        try await onThread {
            let settings = try BrokerSettings.temporary()
            let broker = try RunningBroker(settings: settings)
            defer { broker.stop() }
            let kafka = KafkaSettings(brokers: ["\(broker.host):\(broker.port)"])
            let names = ["plain", "packed"]
            let admin = try AdminClient(settings: kafka, log: .silent, metrics: Metrics())
            _ = try admin.createTopics(
                names.map { NewTopic(name: $0, partitionCount: 1, replicationFactor: 1) })
            var options = ProducerOptions()
            options.compression = .lz4
            options.compressionOfTopics = ["plain": .none]
            let producer = try TransactionalProducer(
                settings: kafka, options: options, transactionalID: "flotilla.test.0", name: "test",
                log: .silent,
                metrics: Metrics())
            let topics = try names.map { name throws(KafkaError) in try producer.topic(named: name) }
            try producer.initialize()
            try producer.connectToLeaders(of: topics)
            try producer.begin()
            let value = [UInt8](repeating: 7, count: Self.valueByteCount)
            for topic in topics {
                #expect(producer.send(to: topic, partition: 0, key: nil, value: value.span) == .queued)
            }
            try producer.commit()
            #expect(try Self.byteCount(of: "plain", in: settings.dataDirectory) > Self.valueByteCount)
            #expect(try Self.byteCount(of: "packed", in: settings.dataDirectory) < Self.valueByteCount / 10)
        }
    }

    /// Returns the number of bytes that the broker has written for all partitions of a topic.
    private static func byteCount(of topic: String, in directory: String) throws -> Int {
        let paths = try FileManager.default.subpathsOfDirectory(atPath: directory)
        let logs = paths.filter { $0.contains(topic) && $0.hasSuffix(".log") }
        #expect(!logs.isEmpty)
        return try logs.reduce(0) { sum, path in
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(directory)/\(path)")
            return sum + (attributes[.size] as? Int ?? 0)
        }
    }
}

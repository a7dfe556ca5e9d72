internal import Foundation
internal import Kafka
internal import LiveActivity
internal import Registry
internal import Stages
internal import Store
internal import Telemetry
internal import Topics

/// The registry as fan-out will see it: every lane, read from the topic into tables of its own, which
/// are thrown away. Owned by one thread at a time.
final class DemonstrationLanes {
    private let consumer: Consumer
    private var batch = RecordBatch()
    private var lanes: [Int32: Lane] = [:]
    private var reached: [Int32: Int64] = [:]
    private let seal: TokenSeal

    init(_ environment: StageEnvironment, directory: String, metrics: Metrics) throws {
        let topic = environment.layout.name(.registry)
        let partitions = 0..<Int32(environment.layout.lanes)
        seal = TokenSeal(environment.sealingKeys)
        consumer = try Consumer(
            environment.cluster.settings, ConsumerOptions(.manual), name: "demonstration", log: .silent,
            metrics: metrics)
        try? FileManager.default.removeItem(atPath: directory)
        let laneMetrics = LaneMetrics(metrics)
        for partition in partitions {
            let path = "\(directory)/\(partition)"
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            lanes[partition] = try Lane(
                path, Store.TopicPartition(topic, partition), origin: "demonstration",
                ageMaxMilliseconds: TopicLayout.deleteRetentionMilliseconds, now: .now(), boot: .current(),
                log: .silent, metrics: laneMetrics)
        }
        try consumer.assign(
            partitions.map { PartitionStart(Kafka.TopicPartition(topic, $0), .beginning) })
    }

    /// Takes what has come, for so long at most.
    func advance(milliseconds: Int32) throws {
        _ = consumer.poll(into: &batch, waitMilliseconds: milliseconds)
        try take(batch)
        for (partition, offset) in reached {
            try lanes[partition]?.commit(Applied(offset: offset, asOf: .now()))
        }
        reached.removeAll()
    }

    private func take(_ batch: borrowing RecordBatch) throws {
        for index in 0..<batch.count {
            let record = batch[index]
            guard let lane = lanes[record.partition] else { continue }
            try lane.take(key: record.key, value: record.value, offset: record.offset)
            reached[record.partition] = record.offset + 1
        }
    }

    /// The tokens of a selection, a page after the other.
    func tokens(_ selection: Selection) throws -> [PushToken] {
        var tokens: [PushToken] = []
        var page = TokenPage()
        for lane in lanes.values {
            var cursor: PageCursor? = PageCursor()
            while let from = cursor {
                cursor = try lane.page(selection, from: from, into: &page)
                for index in 0..<page.count {
                    let row = page[index]
                    tokens.append(
                        try seal.open(
                            text(row.token), app: selection.app, entry: text(row.entryText)))
                }
            }
        }
        return tokens
    }

    func close() throws {
        _ = consumer.close()
        for lane in lanes.values { try lane.close() }
    }

    private func text(_ bytes: Span<UInt8>) -> String {
        unsafe bytes.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }
}

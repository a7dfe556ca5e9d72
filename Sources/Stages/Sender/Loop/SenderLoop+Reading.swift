internal import Kafka
internal import Lifecycle
internal import Telemetry
internal import Topics

// The pauses of partitions in the consumer. A partition that continues at another offset than the one where it was
// paused is sought first.
extension SenderLoop {
    /// Longest wait for a seek, and the pause after a failed one. The library answers without a broker.
    private static let seekMilliseconds = 250

    /// Pauses partitions. They are not resumed after a pending seek.
    func pause(_ pauses: [DeliveryActions.PartitionPause]) {
        let partitions = pauses.map { partition(of: $0.topic, lane: $0.lane) }
        partitionsToResume.subtract(partitions)
        consumer.pause(partitions)
    }

    /// Resumes partitions at once, or after their seek.
    func resume(_ resumes: [DeliveryActions.PartitionResume]) {
        var partitionsWithoutSeek: [TopicPartition] = []
        for resume in resumes {
            let partition = partition(of: resume.topic, lane: resume.lane)
            if let from = resume.from { seekOffsets[partition] = from }
            // A seek of an earlier resume may be pending, if the partition was paused before it succeeded.
            if seekOffsets[partition] == nil {
                partitionsWithoutSeek.append(partition)
            } else {
                partitionsToResume.insert(partition)
            }
        }
        if !partitionsWithoutSeek.isEmpty { consumer.resume(partitionsWithoutSeek) }
        seek()
    }

    /// Seeks partitions to the offsets that the plan named, and resumes them. If a seek fails, they stay paused,
    /// because without the seek the library would skip sheets.
    func seek() {
        guard !partitionsToResume.isEmpty, loop.now >= nextSeek else { return }
        let starts = partitionsToResume.compactMap { partition in
            seekOffsets[partition].map { PartitionStart(partition: partition, position: .offset($0)) }
        }
        do {
            try consumer.seek(to: starts, withinMilliseconds: Self.seekMilliseconds)
        } catch {
            nextSeek = loop.now.advanced(byMilliseconds: Self.seekMilliseconds)
            log.warning(
                "reading of a tier cannot continue now; the sender tries again", .field("error", error))
            return
        }
        consumer.resume(Array(partitionsToResume))
        for partition in partitionsToResume { seekOffsets[partition] = nil }
        partitionsToResume.removeAll()
    }

    /// Forgets the seeks, because the assignment is over.
    func forgetSeeks() {
        seekOffsets.removeAll()
        partitionsToResume.removeAll()
    }

    private func partition(of topic: JobTopic, lane: Int32) -> TopicPartition {
        TopicPartition(layout.name(of: topic.topic), lane)
    }
}

/// The immediate answer of a producer to one record.
package enum SendResult: Sendable, Equatable {
    /// The record is in the queue. Its outcome comes as a delivery, or with the commit.
    case queued
    /// The queue is full. Collect deliveries, then send the same record again.
    case full
    /// The producer will never accept this record: it is too large, or its topic or partition does not exist.
    case refused(KafkaErrorCode)
    /// The producer is unusable. Make another one and send the records without a delivery through it.
    case unusable(KafkaErrorCode)

    init(code: KafkaErrorCode) {
        self =
            switch code {
            case .none: .queued
            case .queueFull: .full
            case .fatal, .fenced: .unusable(code)
            default: .refused(code)
            }
    }
}

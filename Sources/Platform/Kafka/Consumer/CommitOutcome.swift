/// The outcome of an offset commit. Only `refused` is a fault. After `willBeReadAgain` this member or the
/// partition's new owner reads the records again. Every reader allows for that.
package enum CommitOutcome: Sendable, Equatable {
    case committed
    case willBeReadAgain(KafkaErrorCode)
    case refused(KafkaErrorCode)

    package init(code: KafkaErrorCode) {
        self =
            switch code {
            // With `noOffset`, the library had nothing to commit.
            case .none, .noOffset: .committed
            case _ where code.isAccessRefused: .refused(code)
            case .metadataTooLarge, .unknownTopicOrPartition, .invalidArgument, .state: .refused(code)
            default: .willBeReadAgain(code)
            }
    }

    /// The value of the metric's label.
    package var label: String {
        switch self {
        case .committed: "committed"
        case .willBeReadAgain: "will_be_read_again"
        case .refused: "refused"
        }
    }
}

/// What became of an offset commit. Only the last case is a fault; in the middle one the records
/// are read again, by us or by their new owner, which every reader here is built for.
package enum CommitOutcome: Sendable, Equatable {
    case committed
    case willBeReadAgain(ErrorCode)
    case refused(ErrorCode)

    package init(_ code: ErrorCode) {
        self =
            switch code {
            case .none, .noOffset: .committed
            case _ where code.isAccessRefused: .refused(code)
            case .metadataTooLarge, .unknownTopicOrPartition, .invalidArgument, .state: .refused(code)
            default: .willBeReadAgain(code)
            }
    }

    package var label: String {
        switch self {
        case .committed: "committed"
        case .willBeReadAgain: "will_be_read_again"
        case .refused: "refused"
        }
    }
}

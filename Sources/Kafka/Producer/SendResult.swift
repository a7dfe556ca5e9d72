/// What a producer says at once about one record.
package enum SendResult: Sendable, Equatable {
    /// In the queue; what becomes of it comes as a delivery, or with the commit.
    case queued
    /// The queue holds all it may: collect deliveries, then send the same record again.
    case full
    /// This record will never be taken: too large, or to a topic or partition that is not there.
    case refused(ErrorCode)
    /// The producer is at its end; make another one and drive what has no delivery through it.
    case rebuild(ErrorCode)

    init(_ code: ErrorCode) {
        self =
            switch code {
            case .none: .queued
            case .queueFull: .full
            case .fatal, .fenced: .rebuild(code)
            default: .refused(code)
            }
    }
}

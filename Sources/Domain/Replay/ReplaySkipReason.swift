/// The reason why a record or a job is not sent again.
package enum ReplaySkipReason: String, Sendable, CaseIterable {
    /// Its deadline has passed, or passes before the job could be pushed.
    case expired
    /// Its scope has a newer version.
    case newer = "newer_version"
    /// Its scope has ended since then.
    case ended
    /// Its send was cancelled.
    case cancelled
    /// Another job has started the phone since then.
    case startedSince = "started_since"
    /// `flotilla replay resend` has sent its jobs, or has begun to.
    case resent
    /// This version cannot read it either.
    case unreadable
    /// Its content was too large to be kept.
    case notKept = "not_kept"
    /// Its topic does not accept redriven records.
    case unknownTopic = "unknown_topic"
    /// Another call is working on it, or was killed a moment ago.
    case busy

    /// The words for people, about several records.
    package var explanation: String {
        switch self {
        case .expired: "their deadline has passed"
        case .newer: "a newer version exists"
        case .ended: "their group has ended"
        case .cancelled: "their send was cancelled"
        case .startedSince: "another job has started the phone since then"
        case .resent: "`flotilla replay resend` has sent their jobs; if it was killed, repeat it"
        case .unreadable: "this version cannot read them"
        case .notKept: "their content was too large to be kept"
        case .unknownTopic: "their topic does not accept redriven records"
        case .busy:
            "another call is working on them, or was killed within the last minute; try again in a minute"
        }
    }
}

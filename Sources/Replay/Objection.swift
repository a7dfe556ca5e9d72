/// Why a record or a job is not sent once more.
package enum Objection: String, Sendable, CaseIterable {
    /// Its deadline has passed, or does before it could leave.
    case expired
    /// A newer version of its scope is there.
    case newer = "newer_version"
    /// Its scope has ended since.
    case ended
    /// Its send was taken back.
    case cancelled
    /// The phone was started by another job since.
    case startedSince = "started_since"
    /// Its jobs went out again by `flotilla replay resend`.
    case resent
    /// It cannot be read, by this version either.
    case unreadable
    /// Its bytes were too many to be kept.
    case notKept = "not_kept"
    /// It is of a topic that takes nothing by hand.
    case unknownTopic = "unknown_topic"
    /// Another call is at work on it, or was killed a moment ago.
    case busy

    /// Of several of them, for people.
    package var sentence: String {
        switch self {
        case .expired: "their deadline has passed"
        case .newer: "something newer is there"
        case .ended: "their group has ended"
        case .cancelled: "their send was taken back"
        case .startedSince: "the phone was started since"
        case .resent: "their jobs went again by `flotilla replay resend`"
        case .unreadable: "this version cannot read them either"
        case .notKept: "their bytes were too many to be kept"
        case .unknownTopic: "their topic takes nothing by hand"
        case .busy: "another call is at work on them, or was killed within the last minute; try again then"
        }
    }
}

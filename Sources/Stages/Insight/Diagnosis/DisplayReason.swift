internal import JSON

/// The reason for what a phone shows: a sentence for people, and a code for programs.
struct DisplayReason: Sendable, Hashable {
    enum Code: String, CaseIterable, Sendable {
        case showsNewest = "shows_newest"
        case behind
        case onItsWay = "on_its_way"
        case superseded
        case waitsAgain = "waits_again"
        case expired
        case refused
        case unknownOutcome = "unknown_outcome"
        case noToken = "no_token"
        case switchedOff = "switched_off"
        case system
        case unregistered
        case otherEnvironment = "other_environment"
        case dismissed
        case ended
        case notRunning = "not_running"
        case silent
        case nothingReported = "nothing_reported"
        case nothingSent = "nothing_sent"
        case started
        case unknownGroup = "unknown_group"

        /// Whether the reason needs no action.
        var needsNoAction: Bool {
            switch self {
            case .showsNewest, .onItsWay, .ended, .started, .nothingSent, .dismissed: true
            case .behind, .superseded, .waitsAgain, .expired, .refused, .unknownOutcome, .noToken,
                .switchedOff,
                .system, .unregistered, .otherEnvironment, .notRunning, .silent, .nothingReported,
                .unknownGroup:
                false
            }
        }
    }

    var code: Code
    var sentence: String
    var installation: String?
    var group: String?
    var activity: String?
    /// The time of the fact behind the sentence, in milliseconds since 1970.
    var at: Int64?

    init(_ code: Code, _ sentence: String, at: Int64? = nil) {
        self.code = code
        self.sentence = sentence
        self.at = at
    }

    func write(to writer: inout JSONWriter) {
        writer.field("code", code.rawValue)
        writer.field("sentence", sentence)
        writer.field("installationId", installation)
        writer.field("groupId", group)
        writer.field("activityId", activity)
        writer.field("at", at)
    }
}

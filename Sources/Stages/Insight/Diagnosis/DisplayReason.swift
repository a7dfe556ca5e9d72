internal import JSON

/// The reason for what a phone shows: a sentence for people, and a code for programs. `PhoneDiagnosis` chooses it.
struct DisplayReason: Sendable, Hashable {
    /// The reason for programs. The raw values are part of the API.
    enum Code: String, CaseIterable, Sendable {
        /// The phone shows the newest version.
        case showsNewest = "shows_newest"
        /// A newer version was not pushed to the activity.
        case newestNotPushed = "behind"
        /// A push left, or the newest send is so young that its push may still come.
        case onItsWay = "on_its_way"
        /// A push was left out, because a newer one replaced it, the activity ended, or the send was cancelled.
        case superseded
        /// APNs did not accept a push, and it waits for another attempt.
        case waitsForRetry = "waits_again"
        /// The deadline of a push passed before it was sent.
        case expired
        /// APNs rejected a push or the token, or Flotilla could not push.
        case refused
        /// It is unknown whether APNs received a push.
        case unknownOutcome = "unknown_outcome"
        /// The phone has not reported a token for the activity.
        case noToken = "no_token"
        /// The person switched Live Activities off for the app.
        case switchedOff = "switched_off"
        /// The phone's iOS is too old for a push that starts an activity.
        case systemTooOld = "system"
        /// The app unregistered the activity type on the phone.
        case unregistered
        /// The token is for another APNs environment than the app on the phone uses now.
        case otherEnvironment = "other_environment"
        /// The person dismissed the activity.
        case dismissed
        /// The activity ended.
        case ended
        /// The phone listed its running activities, and the activity was not among them.
        case notRunning = "not_running"
        /// No report about the activity came for so long that its token has expired.
        case noReports = "silent"
        /// The phone has reported neither tokens nor activities.
        case nothingReported = "nothing_reported"
        /// Nothing was sent to the phone or the activity lately.
        case nothingSent = "nothing_sent"
        /// APNs accepted a start, and the phone has not reported the activity yet.
        case started
        /// The phone has not reported the group of the activity, and nothing was sent to it alone.
        case unknownGroup = "unknown_group"

        /// Whether the reason needs no action.
        var needsNoAction: Bool {
            switch self {
            case .showsNewest, .onItsWay, .ended, .started, .nothingSent, .dismissed: true
            case .newestNotPushed, .superseded, .waitsForRetry, .expired, .refused, .unknownOutcome, .noToken,
                .switchedOff, .systemTooOld, .unregistered, .otherEnvironment, .notRunning, .noReports,
                .nothingReported, .unknownGroup:
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

    /// - Parameter at: The time of the fact behind the sentence.
    init(_ code: Code, _ sentence: String, at: Int64? = nil) {
        self.code = code
        self.sentence = sentence
        self.at = at
    }

    /// Writes the fields into an open object.
    func write(to writer: inout JSONWriter) {
        writer.field("code", code.rawValue)
        writer.field("sentence", sentence)
        writer.field("installationId", installation)
        writer.field("groupId", group)
        writer.field("activityId", activity)
        writer.field("at", at)
    }
}

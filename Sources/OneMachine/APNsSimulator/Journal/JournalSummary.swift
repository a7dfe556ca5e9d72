internal import APNs
internal import HTTP2

/// Totals of all requests since the start or the last reset, including those that the journal no longer
/// holds. Its size is limited, so that it can be copied to other threads: `JournalTotals` has the tables that
/// grow with the requests.
struct JournalSummary: Sendable {
    /// Status and reason of an answer. Answers of one kind are counted together.
    struct AnswerKind: Hashable, Sendable {
        var status: Int
        var reason: String?
    }

    /// An apns-id that was answered 200 more than once.
    struct DuplicateID: Sendable, Hashable {
        var id: PushID
        /// Number of pushes with this id that were answered 200.
        var times: Int
    }

    /// Limit on distinct pairs of status and reason, and on reset codes, because scripts can create any
    /// number.
    static let kindsMax = 500
    /// Limit on listed duplicate ids. All duplicates are counted.
    static let duplicatesListedMax = 100

    /// Number of requests with an outcome.
    var requests = 0
    /// Number of answers of each kind.
    var answered: [AnswerKind: Int] = [:]
    /// Number of streams that were reset with each code.
    var resets: [HTTP2ErrorCode: Int] = [:]
    /// Requests above the last stream of a GOAWAY.
    var notProcessed = 0
    /// Requests that were never answered.
    var unanswered = 0
    /// Answers and resets of kinds beyond `kindsMax`.
    var otherOutcomes = 0
    /// Answers that were not sent when their stream or connection ended, so that the client does not know
    /// them.
    var answersLost = 0
    /// Pushes delivered to the phones.
    var delivered = 0

    /// Number of apns-ids that were answered 200 more than once.
    var duplicateIDs = 0
    /// Number of pushes with these ids beyond the first of each.
    var duplicatePushes = 0
    /// The first duplicate ids.
    var duplicatesListed: [DuplicateID] = []
    /// Number of accepted pushes whose id was new when `JournalLimits.trackedIDsMax` was reached.
    var idsNotTracked = 0

    /// Number of tokens and channels with an accepted push.
    var targetsSeen = 0
    /// Accepted pushes of the busiest token or channel.
    var pushesPerTargetMax = 0
    var busiestTarget: AcceptedPush.Target?
    /// Number of accepted pushes whose target was new when `JournalLimits.trackedTargetsMax` was reached.
    var targetsNotTracked = 0
}

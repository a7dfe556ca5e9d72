internal import APNs
internal import HTTP2
internal import LiveActivity

/// Totals of all requests since the start, including those that the journal no longer holds. It is small,
/// because it is passed to other threads.
struct JournalSummary: Sendable {
    struct AnswerKind: Hashable, Sendable {
        var status: Int
        var reason: String?
    }

    /// An apns-id that was answered 200 more than once.
    struct DuplicateID: Sendable, Hashable {
        var id: PushID
        var times: Int
    }

    /// Limit on distinct pairs of status and reason, and on reset codes, because scripts can create any
    /// number.
    static let kindsMax = 500
    /// Limit on listed duplicate ids. All duplicates are counted.
    static let duplicatesListedMax = 100

    var requests = 0
    var answered: [AnswerKind: Int] = [:]
    var resets: [HTTP2ErrorCode: Int] = [:]
    /// Requests above the last stream of a GOAWAY.
    var notProcessed = 0
    var silent = 0
    /// Answers and resets of kinds beyond `kindsMax`.
    var otherOutcomes = 0
    /// Answers that were not sent when their stream or connection ended, so that the client does not know
    /// them.
    var answersLost = 0
    /// Pushes delivered to the phones.
    var delivered = 0

    /// Ids that were answered 200 more than once, and the number of pushes beyond the first of each.
    var duplicateIDs = 0
    var duplicatePushes = 0
    var duplicatesListed: [DuplicateID] = []
    var idsNotTracked = 0

    /// Tokens and channels that received pushes.
    var targetsSeen = 0
    /// Accepted pushes of the busiest token or channel.
    var pushesPerTargetMax = 0
    var busiestTarget: AcceptedPush.Target?
    var targetsNotTracked = 0
}

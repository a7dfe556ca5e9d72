internal import APNs
internal import HTTP2
internal import LiveActivity

/// What became of all requests since the start, also of those that the journal no longer holds. Small:
/// it is handed to other threads.
struct JournalSummary: Sendable {
    struct Answered: Hashable, Sendable {
        var status: Int
        var reason: String?
    }

    /// An apns-id that was answered 200 more than once.
    struct Doubled: Sendable, Hashable {
        var id: PushID
        var times: Int
    }

    /// Statuses with reasons, and reset codes, that are told apart; scripts can make up any number.
    static let kindsMax = 500
    /// Doubled ids that are listed; all are counted.
    static let doubledListedMax = 100

    var requests = 0
    var answered: [Answered: Int] = [:]
    var resets: [ErrorCode: Int] = [:]
    /// Above the last stream of a GOAWAY.
    var notProcessed = 0
    var silent = 0
    /// Answers and resets that are of a kind beyond `kindsMax`.
    var others = 0
    /// Answers that had not left when their stream or connection ended: the sender does not know them.
    var answersLost = 0
    /// Pushes that the phones were given.
    var delivered = 0

    /// Ids that were answered 200 more than once, and the pushes beyond the first of each.
    var doubledIDs = 0
    var doubledPushes = 0
    var doubledListed: [Doubled] = []
    var idsNotFollowed = 0

    /// Tokens and channels that were pushed to.
    var targetsSeen = 0
    /// Accepted pushes of the token or channel that had most.
    var pushesPerTargetMax = 0
    var busiestTarget: AcceptedPush.Target?
    var targetsNotFollowed = 0
}

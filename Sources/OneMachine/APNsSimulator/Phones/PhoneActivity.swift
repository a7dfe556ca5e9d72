/// One Live Activity on one phone: an element (slot) of `Phones.activities`. When the activity leaves the
/// screen, its slot is free and later used again.
struct PhoneActivity {
    enum ActivityState: UInt8 {
        /// The slot holds no activity.
        case free
        case active
        case stale
        case ended
    }

    var state = ActivityState.free
    /// Whether the app has a token that it could not report yet.
    var hasUnreportedToken = false
    /// Whether the app has reported a token to its server.
    var isTokenReported = false
    /// Number of the use of the slot. It distinguishes the activity from earlier ones of the slot.
    var slotGeneration: UInt16 = 0
    /// Generation of its update token: the number of times that a new token replaced it.
    var tokenGeneration: UInt16 = 0
    /// Index of its type in the app's types.
    var type: UInt16 = 0
    /// Number of its phone.
    var phone: Int32 = -1
    /// Index of the phone's next older activity, or of the next free slot. -1 for none.
    var nextIndex: Int32 = -1
    // Numbers of its group (in `Phones.groups`), of its content state (in `Phones.contents`) and of its channel (in
    // `Phones.channels`). -1 for none.
    var group: Int32 = -1
    var content: Int32 = -1
    var channel: Int32 = -1
    /// Timestamp of the shown push, in seconds since 1970. Older updates are not shown. All later fields are
    /// in milliseconds since 1970.
    var timestamp: Int64 = 0
    var startedAt: Int64 = 0
    /// Time at which its content changed, or at which the slot became free.
    var changedAt: Int64 = 0
    var staleAt = Int64.max
    /// Time at which an ended activity leaves the Lock Screen.
    var dismissesAt = Int64.max
    /// Time at which the app gets its update token. `.max` if never, or if it has the token.
    var tokenIssuedAt = Int64.max
    /// Time at which an update above the budget is shown. `.max` without such an update.
    var throttledUntil = Int64.max
    /// Time at which the phone registered the current token with APNs and the previous token died.
    var tokenRegisteredAt: Int64 = 0
    /// Time of its earliest entry in `Phones.activityWakes`. `.max` without an entry.
    var wakesAt = Int64.max

    var isRunning: Bool { state == .active || state == .stale }
}

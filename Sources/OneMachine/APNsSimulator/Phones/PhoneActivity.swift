/// One Live Activity on one phone. Slots are reused, and `life` counts the uses.
struct PhoneActivity {
    enum ActivityState: UInt8 {
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
    var slotGeneration: UInt16 = 0
    /// Generation of its token.
    var tokenGeneration: UInt16 = 0
    var type: UInt16 = 0
    var phone: Int32 = -1
    /// The phone's next activity or the next free slot, -1 for none.
    var nextIndex: Int32 = -1
    /// Number of the group, -1 if the attributes name none.
    var group: Int32 = -1
    var content: Int32 = -1
    var channel: Int32 = -1
    /// Timestamp in seconds since 1970. Older updates are not shown. All later fields are in milliseconds.
    var timestamp: Int64 = 0
    var startedAt: Int64 = 0
    /// Time at which its content changed, or at which the slot became free.
    var changedAt: Int64 = 0
    var staleAt = Int64.max
    /// Time at which an ended activity leaves the Lock Screen.
    var dismissesAt = Int64.max
    /// Time at which the app gets its token. `.max` if never, or if already done.
    var tokenIssuedAt = Int64.max
    /// Time at which a throttled update is shown.
    var throttledUntil = Int64.max
    /// Time at which the phone registered the current token with APNs and the previous token died.
    var tokenRegisteredAt: Int64 = 0
    /// Time of its earliest entry in the heap.
    var wakesAt = Int64.max

    var isRunning: Bool { state == .active || state == .stale }
}

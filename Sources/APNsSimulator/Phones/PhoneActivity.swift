/// One Live Activity on one phone. Places are used again, so each has a life that is counted.
struct PhoneActivity {
    enum State: UInt8 {
        case free
        case active
        case stale
        case ended
    }

    var state = State.free
    /// The app has a token that it could not report yet.
    var owesToken = false
    /// The app has told its server a token.
    var isTokenReported = false
    var life: UInt16 = 0
    /// Of its token.
    var generation: UInt16 = 0
    var type: UInt16 = 0
    var phone: Int32 = -1
    /// The phone's next activity, or the next free one; -1 for none.
    var next: Int32 = -1
    /// -1 where the attributes named none.
    var group: Int32 = -1
    var content: Int32 = -1
    var channel: Int32 = -1
    /// Seconds since 1970: what is older is not shown. All that follows is in milliseconds.
    var timestamp: Int64 = 0
    var startedAt: Int64 = 0
    /// Since when it shows what it shows; of a free one, since when it is free.
    var changedAt: Int64 = 0
    var staleAt = Int64.max
    /// When it leaves the Lock Screen, once it has ended.
    var leavesAt = Int64.max
    /// When the app gets its token; `.max` for never, or for done.
    var tokenAt = Int64.max
    /// When a throttled update is shown.
    var throttledUntil = Int64.max
    /// When the phone registered the token of this generation with APNs, and the one before died.
    var tokenRegisteredAt: Int64 = 0
    /// The earliest entry in the heap.
    var wakesAt = Int64.max

    var isRunning: Bool { state == .active || state == .stale }
}

internal import LiveActivity

/// One installation in few bytes. Everything that follows from its number is not stored.
struct Phone {
    struct Traits: OptionSet {
        let rawValue: UInt8
        static let sandbox = Traits(rawValue: 1)
        static let frequentUpdates = Traits(rawValue: 2)
        /// The user has switched Live Activities off.
        static let switchedOff = Traits(rawValue: 4)
        /// The phone is offline: it receives and sends nothing.
        static let away = Traits(rawValue: 8)
        /// The user has quit the app. Pushes arrive, but the app sends no reports.
        static let quit = Traits(rawValue: 16)
        /// The app is not installed.
        static let removed = Traits(rawValue: 32)
        /// A report was lost while the phone was away. It sends a reconcile report when it is back.
        static let needsReconcile = Traits(rawValue: 64)
        /// The app has not been launched yet, so no server knows the phone.
        static let needsLaunchReport = Traits(rawValue: 128)
    }

    var app: UInt16
    var system: OSVersion
    var traits: Traits
    var locale: UInt8
    /// Number of activities started so far. It seeds the random choices.
    var startCount: UInt16 = 0
    /// Index of its first start token. The others follow it.
    var firstStartToken: UInt32
    /// Index of its first activity, -1 for none.
    var firstActivity: Int32 = -1
    /// Number in a derived user name, -1 for none.
    var user: Int32 = -1
    /// Number of its newest reception plus one, 0 for none.
    var newestReceived: UInt32 = 0
    var startsSpentUntil: Int64 = 0
    var updatesSpentUntil: Int64 = 0
    /// Time of its return, or of the removal of the app, in milliseconds since 1970.
    var changesAt: Int64 = 0

    /// Whether the app can send a report now.
    var canReport: Bool { traits.isDisjoint(with: [.away, .quit, .removed]) }
}

struct StartToken {
    var generation: UInt16 = 0
    /// Time at which the phone registered this generation with APNs.
    var registeredAt: Int64
    /// Time at which the previous generation died: at its replacement, or earlier with the app.
    var replacedDiedAt: Int64 = 0

    init(registeredAt: Int64) { self.registeredAt = registeredAt }

    mutating func replace(at time: Int64, diedAt: Int64) {
        generation &+= 1
        registeredAt = time
        replacedDiedAt = diedAt
    }
}

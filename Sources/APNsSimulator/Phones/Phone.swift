internal import LiveActivity

/// One installation, in few bytes: what can be made from its number is not kept.
struct Phone {
    struct Traits: OptionSet {
        let rawValue: UInt8
        static let sandbox = Traits(rawValue: 1)
        static let frequentUpdates = Traits(rawValue: 2)
        /// The person has switched Live Activities off.
        static let switchedOff = Traits(rawValue: 4)
        /// Nothing reaches it and nothing comes from it.
        static let away = Traits(rawValue: 8)
        /// The person has quit the app: pushes arrive, and nobody reports.
        static let quit = Traits(rawValue: 16)
        /// The app is no longer on it.
        static let removed = Traits(rawValue: 32)
        /// A report was lost while it was away; it tells what runs when it is back.
        static let owesReconcile = Traits(rawValue: 64)
        /// Nobody has heard of it yet.
        static let owesLaunch = Traits(rawValue: 128)
    }

    var app: UInt16
    var system: OSVersion
    var traits: Traits
    var locale: UInt8
    /// Activities that it has ever started; what happens by chance is counted with it.
    var starts: UInt16 = 0
    /// Start tokens lie side by side from here on.
    var firstStartToken: UInt32
    /// -1 for none.
    var firstActivity: Int32 = -1
    /// -1 for none; the number in a user's derived name.
    var user: Int32 = -1
    /// One more than the number of its newest reception; 0 for none.
    var newestReceived: UInt32 = 0
    var startsSpentUntil: Int64 = 0
    var updatesSpentUntil: Int64 = 0
    /// When it comes back, or when the app was removed. Milliseconds since 1970.
    var changesAt: Int64 = 0

    /// Whether the app can send a report now.
    var canReport: Bool { traits.isDisjoint(with: [.away, .quit, .removed]) }
}

struct StartToken {
    var generation: UInt16 = 0
    /// When the phone registered this generation with APNs.
    var registeredAt: Int64
    /// When the generation before died: as it was replaced, or earlier, with the app.
    var replacedDiedAt: Int64 = 0

    init(registeredAt: Int64) { self.registeredAt = registeredAt }

    mutating func replace(at time: Int64, diedAt: Int64) {
        generation &+= 1
        registeredAt = time
        replacedDiedAt = diedAt
    }
}

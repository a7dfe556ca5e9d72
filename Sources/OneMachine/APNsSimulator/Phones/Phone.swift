internal import Identifiers

/// One installation of an app on one phone: an element of `Phones.phones`. Millions are in memory, so each has
/// few bytes. Facts that follow from the phone's number and the seed, such as its name and its tokens, are not
/// stored.
struct Phone {
    struct Traits: OptionSet {
        let rawValue: UInt8
        /// The app uses the sandbox environment of APNs.
        static let sandbox = Traits(rawValue: 1)
        /// The user allows frequent updates.
        static let frequentUpdates = Traits(rawValue: 2)
        /// The user has switched Live Activities off.
        static let switchedOff = Traits(rawValue: 4)
        /// The phone is offline: it receives and sends nothing.
        static let away = Traits(rawValue: 8)
        /// The user has quit the app. Pushes arrive, but the app sends no reports.
        static let quit = Traits(rawValue: 16)
        /// The app is not installed any more.
        static let removed = Traits(rawValue: 32)
        /// A report was lost while the app could not report. Later the app lists its running activities (`reconcile`).
        static let owesReconcileReport = Traits(rawValue: 64)
        /// The app was launched while it could not report. It sends the report of its first launch later.
        static let owesLaunchReport = Traits(rawValue: 128)
    }

    /// Index of its app in `Phones.apps`.
    var app: UInt16
    var system: OSVersion
    var traits: Traits
    /// Index of its locale in the population's locales.
    var locale: UInt8
    /// Number of activities started so far. It makes the random choices of each start independent.
    var startCount: UInt16 = 0
    /// Index of its first start token in `Phones.startTokens`. The others follow it.
    var firstStartToken: UInt32
    /// Index of its newest activity in `Phones.activities`, -1 for none. `PhoneActivity.nextIndex` links the
    /// older ones.
    var newestActivity: Int32 = -1
    /// Number in a derived user name such as `user-3` (`PhoneNames`), -1 for none.
    var user: Int32 = -1
    /// Number of its newest entry in `Phones.receptions` plus one, 0 for none. It is not -1 for none as elsewhere here,
    /// because the numbers need all 32 bits.
    var newestReception: UInt32 = 0
    /// Each start reserves a part of the budget's period. This is the end of the reserved parts, in milliseconds since
    /// 1970 (`PhoneSettings.PushBudget`).
    var startsSpentUntil: Int64 = 0
    /// The same for the budget of updates.
    var updatesSpentUntil: Int64 = 0
    /// The value of `returnsAt` and of `removedAt`, which share it: a phone without the app has no time of return.
    private(set) var returnOrRemovalTime: Int64 = 0

    /// The time at which a phone that is away returns, in milliseconds since 1970.
    var returnsAt: Int64 {
        get { returnOrRemovalTime }
        set { returnOrRemovalTime = newValue }
    }

    /// The time at which the app was removed, in milliseconds since 1970.
    var removedAt: Int64 {
        get { returnOrRemovalTime }
        set { returnOrRemovalTime = newValue }
    }

    /// Whether the app can send a report now.
    var canReport: Bool { traits.isDisjoint(with: [.away, .quit, .removed]) }
}
